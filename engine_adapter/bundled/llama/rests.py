"""The rests of several prompts behind one beginning that all of them have, read together.

ggml attends to 64 tokens in one go (``reading.py``), whoever's they are, where all lanes lie in
one memory; there a beginning is shared instead of copied. Knows no requests.
"""

from __future__ import annotations

from collections.abc import Sequence as Many

from engine_adapter.bundled.llama.context import Context
from engine_adapter.bundled.llama.reading import TILE
from engine_adapter.bundled.llama.transfer import converted
from engine_adapter.bundled.portion import Portion


class Rests:
    """What was read in ``context`` stays there while its slot goes on reading, and is then moved
    to where it will be written on. Until then its slot's own lane holds the beginning only."""

    def __init__(self, writing: Context, context: Context, tokens: int) -> None:
        self._writing = writing
        self.context = context
        self._room = tokens
        self.lanes: dict[int, int] = {}  # by slot

    def chosen(self, portions: Many[Portion]) -> list[Portion]:
        """The portions that are read here: what goes on here, or else those behind one beginning,
        of one domain or public; but only where together they fill what is attended to in one go,
        and alone they do not."""
        here = [portion for portion in portions if portion.slot in self.lanes and portion.count > 1]
        if _tokens(here) < TILE:
            here = []
        for slot in self.lanes.keys() - {portion.slot for portion in here}:
            self.leave(slot)
        if here:
            return here
        groups: dict[tuple[str | None, tuple[int, ...]], list[Portion]] = {}
        for portion in portions:
            if 1 < portion.count < TILE <= portion.start:
                sequence, start = portion.sequence, portion.start
                # Strangers who say the same must not learn of it by how soon they are answered.
                domain = None if start <= sequence.public else sequence.domain
                groups.setdefault((domain, tuple(sequence.known[:start])), []).append(portion)
        best = max(groups.values(), key=_tokens, default=[])
        if _tokens(best) < TILE or best[0].start + _missing(best) > self._room:
            return []
        return best

    def decode(self, portions: Many[Portion]) -> int:
        """Compute portions that were chosen; as ``Context.decode``."""
        if not self.lanes:
            self._begin(portions)
        if (result := self.context.decode(portions, self.lanes)) != 0:
            self.undo(portions)
        return result

    def undo(self, portions: Many[Portion]) -> None:
        """As if these had not been computed."""
        for portion in portions:
            self.context.keep(self.lanes[portion.slot], portion.start)

    def leave(self, slot: int) -> None:
        """Move the slot's state to where it will be written on, if it is here."""
        if (lane := self.lanes.pop(slot, None)) is None:
            return
        state = self.context.save(lane)
        self.context.keep(lane, 0)
        state = converted(state, lanes=self._writing.lanes, to=self._writing.kv_type)
        self._writing.keep(slot, 0)
        if not self._writing.load(slot, state):
            raise RuntimeError("a prompt that was read does not go into its lane")

    def _begin(self, portions: Many[Portion]) -> None:
        state = self._writing.save(portions[0].slot)
        if not self.context.load(0, converted(state, lanes=1, to=self.context.kv_type)):
            raise RuntimeError("a beginning does not go where rests are read")
        for lane, portion in enumerate(portions):
            self.lanes[portion.slot] = lane
            if lane:
                self.context.share(0, lane)


def _tokens(portions: Many[Portion]) -> int:
    return sum(portion.count for portion in portions)


def _missing(portions: Many[Portion]) -> int:
    """Tokens that will be read behind the beginning, in this step and later ones."""
    return sum(len(portion.sequence.known) - portion.start for portion in portions)
