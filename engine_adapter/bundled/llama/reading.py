"""Long prompts are read in a context of their own, whose kind of keys and values reads fastest.

The idea is that of disaggregated serving (DistServe, Zhong et al., OSDI 2024), inside one process:
what suits writing one token a lane does not suit reading many. Knows no requests.
"""

from __future__ import annotations

from collections.abc import Sequence as Many
from dataclasses import replace

from engine_adapter.bundled.llama.context import Context
from engine_adapter.bundled.llama.transfer import converted
from engine_adapter.bundled.portion import Portion

TILE = 64  # ggml's GGML_FA_TILE_Q: so many tokens of a lane are attended to in one go, in f16
WORTH = TILE // 2  # fewer tokens are computed sooner where they will be written
LAST = TILE // 4  # the last of a prompt are not, since their state would have to go there first


class ReadingRoom:
    """Reading lanes that slots borrow from ``reading`` while their prompts are computed.

    A slot's state is in its own lane of ``writing`` or in one reading lane, never in both.
    """

    def __init__(self, writing: Context, reading: Context) -> None:
        self._writing = writing
        self.context = reading
        self.lanes: dict[int, int] = {}  # by slot, longest unused first
        self._free = list(range(reading.lanes))

    def chosen(self, portions: Many[Portion]) -> list[Portion]:
        """Those of a step that are computed here: their slots have lanes here afterwards. No more
        than there are lanes: who comes too late is read where it will be written."""
        taken: list[Portion] = []
        for portion in portions:
            if self._takes(portion, full=len(taken) == self.context.lanes):
                taken.append(portion)
        return taken

    def _takes(self, portion: Portion, *, full: bool) -> bool:
        slot, least = portion.slot, TILE
        if slot in self.lanes:
            least = LAST if portion.closes else WORTH
        if portion.count < least or full:
            self.leave(slot)
            return False
        if slot not in self.lanes:
            self.enter(slot, known=portion.start)
        self.lanes[slot] = self.lanes.pop(slot)
        return True

    def whole_tile(self, portion: Portion) -> Portion:
        """The portion, or where it is less than a tile with the tokens before it, which are then
        computed once more: that is sooner done than without tiles."""
        more = min(TILE - portion.count, portion.start)
        if more <= 0:
            return portion
        self.context.keep(self.lanes[portion.slot], portion.start - more)
        return replace(portion, start=portion.start - more, count=portion.count + more)

    def leave(self, slot: int) -> None:
        """Move the slot's state to where it will be written on."""
        if (lane := self.lanes.get(slot)) is None:
            return
        state = self.save(slot)
        self._return(slot, lane)
        if not self._writing.load(slot, state):
            raise RuntimeError("a prompt that was read does not go into its lane")

    def save(self, slot: int) -> memoryview:
        """A copy of the slot's state, of the kind that ``writing`` holds."""
        state = self.context.save(self.lanes[slot])
        return converted(state, lanes=self._writing.lanes, to=self._writing.kv_type)

    def keep(self, slot: int, count: int) -> None:
        """Forget what the slot has past its first ``count`` tokens; with nothing it leaves."""
        lane = self.lanes[slot]
        self.context.keep(lane, count)
        if not count:
            self._return(slot, lane)

    def enter(self, slot: int, *, known: int) -> None:
        """Give the slot, with the tokens it has, a lane here; if none is free, that of who has not
        used it for longest."""
        if not self._free:
            self.leave(next(iter(self.lanes)))
        if known:
            state = self._writing.save(slot)
            state = converted(state, lanes=self.context.lanes, to=self.context.kv_type)
            if not self.context.load(self._free[-1], state):
                raise RuntimeError("a prompt that was begun does not go into a reading lane")
            self._writing.keep(slot, 0)
        self.lanes[slot] = self._free.pop()

    def _return(self, slot: int, lane: int) -> None:
        del self.lanes[slot]
        self.context.keep(lane, 0)
        self._free.append(lane)
