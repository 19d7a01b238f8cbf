"""What one sequence gets of a step."""

from __future__ import annotations

from dataclasses import dataclass

from engine_adapter.bundled.sequence import Sequence


@dataclass(frozen=True, slots=True)
class Portion:
    """``count`` tokens of ``sequence`` from position ``start`` are computed in this step."""

    sequence: Sequence
    start: int
    count: int

    @property
    def slot(self) -> int:
        """Where it is computed. Raises ``ValueError`` for a sequence that has no slot."""
        if self.sequence.slot is None:
            raise ValueError("a portion needs a slot")
        return self.sequence.slot

    @property
    def closes(self) -> bool:
        """Whether nothing is left to compute afterwards, so that a token can be drawn."""
        return self.start + self.count == len(self.sequence.known)
