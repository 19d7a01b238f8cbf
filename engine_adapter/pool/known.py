"""What is known of one engine of a pool: how busy it is, and whether it rests after a failure.

Owns no connection and asks nobody. Times are seconds of a clock that only goes forward.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final, Literal

from engine_adapter.errors import EngineError, Overloaded
from engine_adapter.types import Gauges

LOOK_S: Final = 1.0  # between two looks at an engine's gauges
STALE_S: Final = 10.0  # what it told longer ago says nothing about now
FIRST_PAUSE_S: Final = 1.0
LONGEST_PAUSE_S: Final = 60.0
LONGEST_WORD_S: Final = 300.0  # of what an engine asks for itself; by then asking again is fair

Readiness = Literal["ready", "doubtful", "resting", "refusing"]
"""``doubtful``: its pause is over, and nobody has seen yet that it is well; ``resting``: it failed
a moment ago; ``refusing``: it said itself that it wants to be left alone for so long."""


@dataclass(frozen=True, slots=True)
class Load:
    """``busy`` requests are there, being written or in line. ``waits``: somebody stands in line."""

    busy: int
    waits: bool
    slots: int | None

    @property
    def is_full(self) -> bool:
        """Whether the next one would have to wait."""
        return self.waits or (self.slots is not None and self.busy >= self.slots)


class Known:
    """What this process knows of one engine. ``rests_until`` is a time of its clock."""

    def __init__(self) -> None:
        self.rests_until = -math.inf
        self._failures = 0
        self._refuses = False
        self._doubtful = False
        self._open = 0
        self._looked_at = -math.inf
        self._told_at = -math.inf
        self._told = Gauges()
        self._open_when_told = 0

    @contextmanager
    def asked(self) -> Iterator[None]:
        """A request of this process is there meanwhile."""
        self._open += 1
        try:
            yield
        finally:
            self._open -= 1

    def load(self, now: float) -> Load:
        """What it told, and what this process has begun and ended there since."""
        told = self._told
        if now - self._told_at > STALE_S or told.running is None:
            return Load(self._open, False, told.slots or None)
        waiting = told.waiting or 0
        busy = told.running + waiting + self._open - self._open_when_told
        return Load(max(busy, self._open), waiting > 0, told.slots or None)

    def readiness(self, now: float) -> Readiness:
        """Whether it is to be asked now."""
        if now < self.rests_until:
            return "refusing" if self._refuses else "resting"
        return "doubtful" if self._doubtful else "ready"

    def failed(self, error: EngineError, now: float) -> None:
        """It did not answer: it rests, longer each time, or for as long as it says itself."""
        self._failures += 1
        pause_s = min(LONGEST_PAUSE_S, FIRST_PAUSE_S * 2.0 ** min(self._failures - 1, 10))
        self._refuses = isinstance(error, Overloaded)
        if isinstance(error, Overloaded) and error.retry_after is not None:
            pause_s = min(LONGEST_WORD_S, error.retry_after)
        self._doubtful = not self._refuses
        self.rests_until = now + pause_s

    def answered(self) -> None:
        """Its first token came: what went wrong before is forgotten."""
        self._failures = 0
        self._doubtful = False
        self.rests_until = -math.inf

    def is_well(self) -> None:
        """It says so. Whether it answers is seen with the next request."""
        self._doubtful = False

    def is_due(self, now: float) -> bool:
        """Whether it is time for a look at it; who asks has to look. A resting one is let be."""
        if now - self._looked_at < LOOK_S or now < self.rests_until:
            return False
        self._looked_at = now
        return True

    def told(self, gauges: Gauges, now: float) -> None:
        """How busy it says that it is."""
        self._told, self._told_at, self._open_when_told = gauges, now, self._open
