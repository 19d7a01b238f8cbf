"""States of prompts that were read: in the lanes that wait for work, in memory, and on disk.

What one domain left is never looked for in another; the public domain holds only what its owner
called public. Knows neither llama.cpp nor whose turn it is.
"""

from __future__ import annotations

from engine_adapter.bundled.prefixes import Found, PrefixTree, common_length
from engine_adapter.bundled.sequence import Sequence
from engine_adapter.bundled.slots import Slots
from engine_adapter.bundled.states import Domain, Memory, Overflow, State

WORTH = 16  # tokens; what is shorter is computed sooner than kept
WORTH_WAITING = 32  # tokens somebody else is computing: sooner copied from there
READY_SHARE = 0.75  # of the lanes are emptied while there is time
PUBLIC_SHARE = 0.5  # of the memory may be held by the public domain for good


class StateCache:
    """Gives lanes to sequences, with what is known of their prompts in them.

    Computing 400 tokens of a small model took 1.2 s, copying their state out of a lane and into
    another 1 ms each. So a sequence that ends leaves its state in its lane; when the lane is
    needed, the state moves to memory; and whoever comes with the same beginning gets a copy.
    ``limit`` is in bytes of memory. Lives in the thread that owns the context.
    """

    def __init__(
        self, device: Memory, slots: Slots, *, limit: int, overflow: Overflow | None = None
    ) -> None:
        self._device = device
        self._slots = slots
        self._limit = limit
        self._overflow = overflow
        self._trees: dict[Domain, PrefixTree[State]] = {}
        self._lanes: dict[int, State] = {}  # what the free lanes hold
        self._memory: dict[State, None] = {}  # longest unused first
        self._spilled: dict[int, State] = {}  # by its key there
        self.bytes = 0

    # ---- lanes ------------------------------------------------------------------------------

    def place(self, sequence: Sequence) -> None:
        """Give the sequence a free lane, and the longest state that is known of its prompt."""
        found = self._find(sequence)
        if found is not None and found.state.lane is not None:
            length = self._take_over(sequence, found.state.lane, found)
        else:
            data = self._read(found.state) if found else None
            free = self._slots.each_free()
            slot = next((s for s in free if s not in self._lanes), free[0])
            self._empty(slot)
            self._slots.take(sequence, slot)
            length = self._copy_in(slot, found, data) if found else 0
        sequence.computed = length
        if sequence.cached is None:
            sequence.cached = min(length, sequence.prompt_tokens)
        worth = sequence.public - length >= WORTH
        sequence.marks = [sequence.public] if worth else []

    def vacate(self, sequence: Sequence) -> None:
        """Take the sequence's lane; its state stays there until the lane is needed."""
        known, length = sequence.known, sequence.computed
        slot = self._slots.release(sequence)
        if length < WORTH:
            self._device.keep(slot, 0)
            return
        state = State(sequence.domain, length, lane=slot)
        self._lanes[slot] = state
        self._enter(known[:length], state)

    def put_away(self, sequence: Sequence) -> None:
        """As ``vacate``, but the lane is needed at once: its state moves to memory."""
        slot = sequence.slot
        self.vacate(sequence)
        if slot is not None:
            self._empty(slot)

    def abandon(self, sequence: Sequence) -> None:
        """Take the sequence's lane and forget what is in it."""
        self._device.keep(self._slots.release(sequence), 0)

    def empty_lanes(self) -> bool:
        """Forget what the free lanes hold. False where they hold nothing."""
        lanes = list(self._lanes.values())
        for state in lanes:
            self._forget(state)
        return bool(lanes)

    def put_by(self) -> bool:
        """Move what one free lane holds to memory, so that who comes need not wait for it. False
        where enough lanes are empty or memory has no place."""
        filled = len(self._lanes) - (1 - READY_SHARE) * self._slots.total
        if filled <= 0:
            return False
        state = next(self._lanes[s] for s in self._slots.each_free() if s in self._lanes)
        lane = state.lane
        if lane is None:
            raise ValueError("the state is in no lane")
        data = self._device.save(lane)
        if self.bytes + data.nbytes > self._limit:
            return False
        self._move_to_memory(state, data)
        self._device.keep(lane, 0)
        return True

    def _take_over(self, sequence: Sequence, slot: int, found: Found[State]) -> int:
        if found.state.length - found.length >= WORTH:
            self._move_to_memory(found.state)
        else:
            self._unlist(found.state)
        self._slots.take(sequence, slot)
        if found.length < found.state.length:
            self._device.keep(slot, found.length)
        return found.length

    def _copy_in(self, slot: int, found: Found[State], data: memoryview | None) -> int:
        state = found.state
        if data is None or not self._device.load(slot, data):
            self._forget(state)
            self._device.keep(slot, 0)
            return 0
        if found.length < state.length:
            self._device.keep(slot, found.length)
        return found.length

    def _empty(self, slot: int) -> None:
        if (state := self._lanes.get(slot)) is not None:
            self._move_to_memory(state)
            self._device.keep(slot, 0)

    # ---- sharing ----------------------------------------------------------------------------

    def must_wait(self, sequence: Sequence, running: list[Sequence]) -> bool:
        """Whether somebody is just computing what this sequence begins with.

        As SGLang's scheduler: of those who share an uncached prefix the first computes it.
        """
        found = self._find(sequence)
        known = found.length if found else 0
        for leader in running:
            shared = self._shared(sequence, leader)
            if shared < known + WORTH_WAITING:
                continue
            if leader.computed < shared:
                if shared not in leader.marks:
                    leader.marks = sorted([*leader.marks, shared])
                return True
            if leader.domain == sequence.domain and self._device.cuts:
                self._snapshot(leader, leader.domain)
                known = shared
        return False

    def passed(self, sequence: Sequence) -> None:
        """The sequence has computed more: keep what others may want."""
        while sequence.marks and sequence.marks[0] <= sequence.computed:
            mark = sequence.marks.pop(0)
            domain = None if mark <= sequence.public else sequence.domain
            known = self._look(domain, sequence.known, mark)
            if mark == sequence.computed and (known is None or known.length < mark):
                self._snapshot(sequence, domain)

    def _shared(self, sequence: Sequence, leader: Sequence) -> int:
        """How many of the sequence's tokens it may take from this leader."""
        length = sequence.shared.get(leader.id)
        if length is None:
            if sequence.domain == leader.domain:
                most = min(len(sequence.known) - 1, leader.prompt_tokens)
            else:
                most = min(sequence.public, leader.public, len(sequence.known) - 1)
            length = common_length(sequence.known[:most], leader.known[:most])
            sequence.shared[leader.id] = length
        return length

    def _snapshot(self, sequence: Sequence, domain: Domain) -> None:
        if sequence.slot is None:
            raise ValueError("only a running sequence has a state")
        tokens = sequence.known[: sequence.computed]
        state = State(domain, len(tokens), data=self._device.save(sequence.slot))
        self._memory[state] = None
        self.bytes += state.size
        self._enter(tokens, state)
        self._shrink()

    # ---- books ------------------------------------------------------------------------------

    def _find(self, sequence: Sequence) -> Found[State] | None:
        known, most = sequence.known, len(sequence.known) - 1
        own = self._look(sequence.domain, known, most)
        public = self._look(None, known, min(sequence.public, most))
        if own is None or public is None:
            return own or public
        return public if public.length > own.length else own

    def _look(self, domain: Domain, tokens: list[int], most: int) -> Found[State] | None:
        if (tree := self._trees.get(domain)) is None:
            return None
        found = tree.find(tokens, most, cuts=self._device.cuts)
        return found if found and found.length >= WORTH else None

    def _enter(self, tokens: list[int], state: State) -> None:
        tree = self._trees.setdefault(state.domain, PrefixTree())
        state.node, replaced = tree.put(tokens, state)
        if replaced is not None:
            replaced.node = None
            self._forget(replaced)
        if state.domain is not None and self._device.cuts:
            for node in list(tree.above(state.node)):  # all that they know, this one knows
                if node.state is not None:
                    self._forget(node.state)

    def _move_to_memory(self, state: State, data: memoryview | None = None) -> None:
        """From a free lane, whose content (``data`` where it was copied) stays as it is."""
        lane = state.lane
        if lane is None:
            raise ValueError("the state is in no lane")
        del self._lanes[lane]
        state.lane, state.data = None, data or self._device.save(lane)
        self._memory[state] = None
        self.bytes += state.size
        self._shrink()

    def _read(self, state: State) -> memoryview | None:
        if state.data is None and self._overflow is not None:
            self._spilled.pop(id(state), None)
            state.data = self._overflow.take(id(state))
            if state.data is not None:
                self.bytes += state.size
        data = state.data
        if data is not None:
            self._memory.pop(state, None)
            self._memory[state] = None  # the newest
            self._shrink()
        return data

    def _shrink(self) -> None:
        public = sum(state.size for state in self._memory if state.domain is None)
        while self.bytes > self._limit:
            pinned = public <= PUBLIC_SHARE * self._limit
            state = next(
                (s for s in self._memory if not (pinned and s.domain is None)),
                None,
            ) or next(iter(self._memory))
            public -= state.size if state.domain is None else 0
            if not self._spill(state):
                self._forget(state)

    def _spill(self, state: State) -> bool:
        if self._overflow is None or state.data is None:
            return False
        if not self._overflow.put(id(state), state.data):
            return False
        self.bytes -= state.size
        del self._memory[state]
        state.data = None
        self._spilled[id(state)] = state
        for key in self._overflow.lost():
            if (gone := self._spilled.get(key)) is not None:
                self._forget(gone)
        return True

    def _unlist(self, state: State) -> None:
        """Take the state out of the books; the lane it lies in keeps its content."""
        if state.lane is not None:
            del self._lanes[state.lane]
        if state in self._memory:
            del self._memory[state]
            self.bytes -= state.size
        if self._spilled.pop(id(state), None) is not None and self._overflow is not None:
            self._overflow.drop(id(state))
        if state.node is not None:
            tree = self._trees[state.domain]
            tree.drop(state.node)
            state.node = None
            if not tree:
                del self._trees[state.domain]

    def _forget(self, state: State) -> None:
        lane = state.lane
        self._unlist(state)
        if lane is not None:
            self._device.keep(lane, 0)

    def check_integrity(self) -> None:
        """Raise ``RuntimeError`` unless free + cached + held = total, in lanes and in bytes."""
        self._slots.check_integrity()
        if any(not self._slots.is_free(slot) for slot in self._lanes):
            raise RuntimeError("a lane is held and yet kept as a state")
        if self.bytes != sum(state.size for state in self._memory):
            raise RuntimeError(f"{self.bytes} bytes of states are in the books")
        if self.bytes > self._limit:
            raise RuntimeError(f"states take {self.bytes} bytes of {self._limit}")
        count = 0
        for domain, tree in self._trees.items():
            tree.check_integrity()
            count += tree.count()
            if not tree:
                raise RuntimeError(f"nothing is kept for {'everybody' if domain is None else 'a'}")
        if count != len(self._lanes) + len(self._memory) + len(self._spilled):
            raise RuntimeError(f"{count} states in the trees, not as many in the books")
