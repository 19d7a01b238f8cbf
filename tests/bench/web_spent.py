"""What processes cost, as the kernel counts it: processor time and memory."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

TICKS = os.sysconf("SC_CLK_TCK")
MB = 1e6


@dataclass(frozen=True, slots=True)
class Memory:
    """In MB. ``rss`` counts shared pages in each process, ``pss`` a share of them in each."""

    rss: float
    pss: float
    processes: int


def family(pid: int) -> list[int]:
    """A process, its children, and theirs."""
    parents: dict[int, list[int]] = {}
    for path in Path("/proc").glob("[0-9]*"):
        if fields := _stat(int(path.name)):
            parents.setdefault(int(fields[1]), []).append(int(path.name))
    found = [pid]
    for one in found:  # grows while it is walked
        found += parents.get(one, ())
    return found


def cpu_s(pids: Sequence[int]) -> float:
    """Processor seconds of processes and of the children they have waited for."""
    return sum(sum(map(int, _stat(pid)[11:15])) for pid in pids) / TICKS


def memory(pids: Sequence[int]) -> Memory:
    """Of processes together, now."""
    text = "".join(_rollup(pid) for pid in pids)
    sums = {
        name: sum(int(kb) for kb in re.findall(rf"^{name}:\s+(\d+) kB", text, re.MULTILINE))
        for name in ("Rss", "Pss")
    }
    return Memory(*(round(kb * 1024 / MB, 1) for kb in sums.values()), len(pids))


def _stat(pid: int) -> list[str]:
    """The fields of /proc/PID/stat from the state on (proc(5)); none of a process that is gone."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return []
    fields = text[text.rindex(")") + 2 :].split()
    return [] if fields[0] in "ZX" else fields


def _rollup(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/smaps_rollup").read_text()
    except OSError:
        return ""
