"""The lanes of the context: one stream of keys and values a slot, each as long as the others.

Knows who holds which slot, and neither why nor what is computed in it.
"""

from __future__ import annotations

from engine_adapter.bundled.sequence import Sequence


class Slots:
    """``total`` lanes, each free or held by exactly one sequence."""

    def __init__(self, total: int) -> None:
        self.total = total
        self._free = dict.fromkeys(range(total))
        self._held: dict[int, Sequence] = {}

    @property
    def free(self) -> int:
        """How many lanes nobody holds."""
        return len(self._free)

    def each_free(self) -> list[int]:
        """The free lanes, the one that was free for the longest time first."""
        return list(self._free)

    def is_free(self, slot: int) -> bool:
        """Whether nobody holds this lane."""
        return slot in self._free

    def take(self, sequence: Sequence, slot: int) -> None:
        """Give ``sequence`` this free lane."""
        if sequence.slot is not None:
            raise ValueError(f"sequence {sequence.id} holds slot {sequence.slot} already")
        if slot not in self._free:
            raise ValueError(f"slot {slot} is not free")
        del self._free[slot]
        self._held[slot] = sequence
        sequence.slot = slot

    def release(self, sequence: Sequence) -> int:
        """Take the lane back and return its number; nothing of the sequence is computed now."""
        slot = sequence.slot
        if slot is None or self._held.get(slot) is not sequence:
            raise ValueError(f"sequence {sequence.id} does not hold slot {slot}")
        del self._held[slot]
        self._free[slot] = None
        sequence.slot = None
        sequence.computed = 0
        return slot

    def check_integrity(self) -> None:
        """Raise ``RuntimeError`` unless every lane is in the books exactly once."""
        free, held = set(self._free), set(self._held)
        if (
            free & held
            or free | held != set(range(self.total))
            or any(sequence.slot != slot for slot, sequence in self._held.items())
        ):
            raise RuntimeError(f"slots out of balance: free {sorted(free)}, held {sorted(held)}")
