"""The lanes of the context: one stream of keys and values a slot, each as long as the others.

Knows who holds which slot, and neither why nor what is computed in it.
"""

from __future__ import annotations

from engine_adapter.bundled.sequence import Sequence


class Slots:
    """``total`` lanes, each free or held by exactly one sequence."""

    def __init__(self, total: int) -> None:
        self.total = total
        self._free = list(range(total - 1, -1, -1))
        self._held: dict[int, Sequence] = {}

    @property
    def free(self) -> int:
        """How many lanes nobody holds."""
        return len(self._free)

    def take(self, sequence: Sequence) -> int:
        """Give ``sequence`` a lane and return its number. There must be a free one."""
        if sequence.slot is not None:
            raise ValueError(f"sequence {sequence.id} holds slot {sequence.slot} already")
        slot = self._free.pop()
        self._held[slot] = sequence
        sequence.slot = slot
        return slot

    def release(self, sequence: Sequence) -> int:
        """Take the lane back and return its number; nothing of the sequence is computed now."""
        slot = sequence.slot
        if slot is None or self._held.get(slot) is not sequence:
            raise ValueError(f"sequence {sequence.id} does not hold slot {slot}")
        del self._held[slot]
        self._free.append(slot)
        sequence.slot = None
        sequence.computed = 0
        return slot

    def check_integrity(self) -> None:
        """Raise ``RuntimeError`` unless every lane is in the books exactly once."""
        free, held = set(self._free), set(self._held)
        if (
            len(free) != len(self._free)
            or free & held
            or free | held != set(range(self.total))
            or any(sequence.slot != slot for slot, sequence in self._held.items())
        ):
            raise RuntimeError(f"slots out of balance: free {self._free}, held {sorted(held)}")
