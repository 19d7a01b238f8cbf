"""When what happens to the sequences is told: what is urgent at once, words a few together."""

from __future__ import annotations

import time
from collections.abc import Callable

from engine_adapter.types import Event

TELL_S = 0.04  # words wait at most so long for each other; readers get them every 50 ms anyway
Told = tuple[int, Event]  # a sequence's id and what happens to it


class Telling:
    """Collects events and hands them to ``tell``, which must not block.

    Each telling wakes other processes, and they take the processor from the step that runs.
    """

    def __init__(self, tell: Callable[[list[Told]], None]) -> None:
        self._tell = tell
        self._told: list[Told] = []
        self._urgent = False
        self._told_at = 0.0

    def add(self, sequence_id: int, event: Event) -> None:
        """One more event."""
        self._told.append((sequence_id, event))

    def hurry(self) -> None:
        """First or last words, or a place in line: not to be kept back."""
        self._urgent = True

    def now_and_then(self) -> None:
        """Tell what there is, if it is urgent or has waited long enough."""
        if self._told and (self._urgent or time.monotonic() - self._told_at >= TELL_S):
            self.all()

    def all(self) -> None:
        """Tell everything."""
        told, self._told = self._told, []
        self._urgent, self._told_at = False, time.monotonic()
        self._tell(told)
