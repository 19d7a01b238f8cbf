"""How long a process may give no sign of life before it is taken for hung.

Knows what a process has computed, not what a sign is or who asks for it.
"""

from __future__ import annotations

from pathlib import Path

from deploy.appliance.processes import family

LOOK_S = 5.0  # between two looks; whoever looks keeps to it
MOST_SILENT = 6  # looks in a row, 30 s where nobody says otherwise
# Who computes is starting, or slow under load, far more often than hung: 180 s.
WHILE_COMPUTING = 1 / 6


class Patience:
    """With one process and what it has started. Looks are counted, not seconds: a machine that
    slept, or one on which even the looking was held up, finds nobody guilty."""

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self._silent = 0.0
        self._computed = 0

    def ends(self, *, sign: bool) -> bool:
        """A look: there was a ``sign`` of life since the last one, or none. Whether it is hung."""
        computed = sum(_computed(pid) for pid in family(self.pid))
        rests = computed == self._computed
        self._computed = computed
        self._silent = 0.0 if sign else self._silent + (1 if rests else WHILE_COMPUTING)
        return self._silent >= MOST_SILENT


def _computed(pid: int) -> int:
    """The processor's time it has taken, in clock ticks; 0 when it is gone."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_bytes()
    except OSError:
        return 0
    fields = stat[stat.rindex(b")") + 2 :].split()
    return int(fields[11]) + int(fields[12])
