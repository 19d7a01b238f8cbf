"""What the loop asks of what computes: ``llama/lanes.py``, and in tests one of paper."""

from __future__ import annotations

from collections.abc import Sequence as Many
from typing import Protocol

from engine_adapter.bundled.portion import Portion
from engine_adapter.bundled.sequence import Drawn, Sequence
from engine_adapter.bundled.states import Memory


class Device(Memory, Protocol):
    """What computes: a model's context with one lane of ``context`` tokens a slot."""

    context: int

    def decode(self, portions: Many[Portion]) -> int:
        """Compute the portions. 0 done, 1 no room, anything else an error."""
        ...

    def draw(self, sequence: Sequence) -> Drawn:
        """The next token of a sequence whose last known token the last ``decode`` computed.
        Raises ``EngineError`` where none can be drawn."""
        ...

    def ends(self, token: int) -> bool:
        """Whether the token ends an answer."""
        ...

    def piece(self, token: int) -> bytes:
        """The token's text in bytes, empty for control tokens."""
        ...

    def use_threads(self, count: int) -> None:
        """Compute with so many threads from now on."""
        ...

    def release(self, sequence: Sequence) -> None:
        """The sequence is over: free what was kept to draw its tokens."""
        ...
