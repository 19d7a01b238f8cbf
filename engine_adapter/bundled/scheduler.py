"""Who computes how much in the next step, and who waits. Pure bookkeeping, no llama.cpp.

The one rule (as in vLLM's scheduler): there is no prefill and no decode phase. Every sequence has
known and computed tokens; a step closes the gaps within a budget.
"""

from __future__ import annotations

import bisect
import itertools
from dataclasses import dataclass

from engine_adapter.bundled.sequence import Sequence
from engine_adapter.bundled.slots import Slots
from engine_adapter.errors import Overloaded


@dataclass(frozen=True, slots=True)
class Portion:
    """``count`` tokens of ``sequence`` from position ``start`` are computed in this step."""

    sequence: Sequence
    start: int
    count: int

    @property
    def closes(self) -> bool:
        """Whether nothing is left to compute afterwards, so that a token can be drawn."""
        return self.start + self.count == len(self.sequence.known)


class Scheduler:
    """Sequences in slots (``running``) and in line (``waiting``), in the order of their rank."""

    def __init__(self, *, slots: int, queue: int) -> None:
        self.slots = Slots(slots)
        self.queue = queue
        self.running: list[Sequence] = []
        self.waiting: list[Sequence] = []
        self._arrivals = itertools.count()
        self._crowded = False

    @property
    def writers(self) -> int:
        """Running sequences that need one token computed to draw the next."""
        return sum(sequence.gap == 1 for sequence in self.running)

    def submit(self, sequence: Sequence) -> None:
        """Put a new sequence in line. Raises ``Overloaded`` when the line is full."""
        if len(self.waiting) >= self.queue + self.slots.free:
            raise Overloaded("The engine's waiting line is full.")
        sequence.arrival = next(self._arrivals)
        bisect.insort(self.waiting, sequence, key=lambda waiting: waiting.rank)

    def plan(self, budget: int) -> list[Portion]:
        """Admit who fits, then share out ``budget`` tokens: writers first, prompts what is left.

        Prompts share evenly, and what a short one leaves goes to the others. ``budget`` must be
        larger than the number of slots, or a prompt beside writers would never be read.
        """
        if budget <= self.slots.total:
            raise ValueError(f"a budget of {budget} is too small for {self.slots.total} slots")
        while self.waiting and self.slots.free and not self._crowded:
            sequence = self.waiting.pop(0)
            self.slots.take(sequence)
            self.running.append(sequence)
        portions = [Portion(s, s.computed, 1) for s in self.running if s.gap == 1]
        left = budget - len(portions)
        prompts = sorted((s for s in self.running if s.gap > 1), key=lambda s: (s.gap, s.rank))
        for done, sequence in enumerate(prompts):
            count = min(sequence.gap, left // (len(prompts) - done))
            if count:
                portions.append(Portion(sequence, sequence.computed, count))
                left -= count
        return portions

    def finish(self, sequence: Sequence) -> int | None:
        """Forget the sequence; return the slot it held, None where it was still in line."""
        if sequence.slot is None:
            self.waiting.remove(sequence)
            return None
        self.running.remove(sequence)
        self._crowded = False
        return self.slots.release(sequence)

    def victim(self) -> Sequence:
        """Whom to set back when memory is short: least urgent, latest come."""
        return max(self.running, key=lambda sequence: sequence.rank)

    def set_back(self, sequence: Sequence) -> int:
        """Return a running sequence to the line and the slot it held.

        Nobody is admitted until somebody finishes: the place that was missing would be missing
        again. At least one sequence must go on running.
        """
        if len(self.running) < 2:
            raise ValueError("the only running sequence cannot be set back")
        self.running.remove(sequence)
        slot = self.slots.release(sequence)
        bisect.insort(self.waiting, sequence, key=lambda waiting: waiting.rank)
        self._crowded = True
        return slot

    def check_integrity(self) -> None:
        """Raise ``RuntimeError`` unless the books balance."""
        self.slots.check_integrity()
        if len(self.running) + self.slots.free != self.slots.total:
            raise RuntimeError(f"{len(self.running)} run, {self.slots.free} slots are free")
        if any(sequence.slot is not None for sequence in self.waiting):
            raise RuntimeError("a waiting sequence holds a slot")
