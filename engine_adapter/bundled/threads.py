"""How many threads compute: all while the machine is ours, fewer while others need it too.

The threads of a step wait for each other at every layer, so one that has to share its core stops
all of them. Whether the processor was taken from us shows in the computing thread's own clock: it
runs as long as the step takes where nobody interferes, and shorter where somebody does.
"""

from __future__ import annotations

SAMPLE_S = 0.4  # a judgement is made on steps of so many seconds together
TAKEN = 0.75  # of the time on the processor; below this somebody interferes
OURS = 0.9  # above this nobody does
PATIENCE_S = 2.0  # until more threads are tried again; doubles with each failure
MOST_PATIENCE_S = 30.0


class Threads:
    """A count of threads that follows what is observed, from 1 to ``most``."""

    def __init__(self, most: int) -> None:
        self.count = most
        self._most = most
        self._wall_s = self._cpu_s = 0.0
        self._patience_s = PATIENCE_S
        self._calm_s = 0.0
        self._trying = False

    def observe(self, wall_s: float, cpu_s: float) -> bool:
        """A step took ``wall_s``, of which the computing thread ran ``cpu_s``. Returns whether
        ``count`` has changed."""
        self._wall_s += wall_s
        self._cpu_s += cpu_s
        self._calm_s += wall_s
        if self._wall_s < SAMPLE_S:
            return False
        share = self._cpu_s / self._wall_s
        self._wall_s = self._cpu_s = 0.0
        before = self.count
        if self.count > 1 and share < TAKEN:
            self.count = max(1, self.count // 2)
            self._patience_s = (
                min(2 * self._patience_s, MOST_PATIENCE_S) if self._trying else PATIENCE_S
            )
            self._calm_s, self._trying = 0.0, False
        elif self._trying and share >= OURS:
            self._trying, self._patience_s = False, PATIENCE_S
        elif self.count < self._most and share >= OURS and self._calm_s >= self._patience_s:
            self.count = min(2 * self.count, self._most)
            self._calm_s, self._trying = 0.0, True
        return self.count != before
