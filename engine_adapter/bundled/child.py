"""What every process below the host has in common: what it is given, and when it ends.

Knows neither models nor templates.
"""

from __future__ import annotations

import ctypes
import os
import resource
import signal
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
# Everything else stays behind: the environment of the host may hold secrets.
HANDED_ON = (
    "PATH", "LD_LIBRARY_PATH", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "TMPDIR", "VIRTUAL_ENV",
    "CUDA_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "OMP_WAIT_POLICY", "GOMP_SPINCOUNT",
)  # fmt: skip
PR_SET_PDEATHSIG = 1


def command(module: str, *arguments: str) -> list[str]:
    """The command line that runs a module of this package in a new interpreter."""
    return [sys.executable, "-P", "-m", f"engine_adapter.bundled.{module}", *arguments]


def environment(**more: str) -> dict[str, str]:
    """A child's environment: the harmless part of ours, our own code, and ``more``."""
    kept = {name: os.environ[name] for name in HANDED_ON if name in os.environ}
    return {**kept, "PYTHONPATH": str(ROOT), "PYTHONUTF8": "1", **more}


def tie_to_parent() -> None:
    """End when the parent ends, however it ends; leave Ctrl-C to it; write no core file, for the
    memory holds people's text."""
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def computed_ticks(pid: int) -> int:
    """The processor's time a process has taken, in the kernel's ticks; 0 when it is gone."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_bytes()
    except OSError:
        return 0
    fields = stat[stat.rindex(b")") + 2 :].split()
    return int(fields[11]) + int(fields[12])
