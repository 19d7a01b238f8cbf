"""What machine it is, how busy it is, and what this process itself costs."""

from __future__ import annotations

import asyncio
import importlib.metadata
import os
import platform
import subprocess
import time
from pathlib import Path

from tests.bench.client import Json

ROOT = Path(__file__).resolve().parent.parent.parent
LOOK_S = 0.5
SETTLE_S = 4.0
QUIET = 0.9  # share of the processors' time that is idle on a quiet machine


def facts() -> Json:
    """The machine, for whoever reads the figures elsewhere."""
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    models = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    memory = next(
        line.split()[1]
        for line in Path("/proc/meminfo").read_text().splitlines()
        if line.startswith("MemTotal")
    )
    return {
        "cpu": models[0] if models else platform.machine(),
        "cores": len(os.sched_getaffinity(0)),
        "memory_gib": round(int(memory) / 2**20, 1),
        "system": platform.platform(),
        "load_average": list(os.getloadavg()),
    }


def versions() -> Json:
    """Of what is measured, and of what measures."""
    git = ["git", "rev-parse", "--short", "HEAD"]
    try:
        done = subprocess.run(git, cwd=ROOT, capture_output=True, text=True, check=False)
        commit = done.stdout.strip() or None
    except OSError:
        commit = None
    return {
        "konak": commit,
        "python": platform.python_version(),
        "llama_cpp_python": importlib.metadata.version("llama-cpp-python"),
    }


async def idle() -> float:
    """Share of the processors' time that nobody used, over half a second; waits a while for a
    quiet one, since a server may still be at what a client has left."""
    share = 0.0
    limit = time.monotonic() + SETTLE_S
    while share < QUIET and time.monotonic() < limit:
        before = _times()
        await asyncio.sleep(LOOK_S)
        spent = [b - a for a, b in zip(before, _times(), strict=True)]
        share = (spent[3] + spent[4]) / (sum(spent) or 1)  # idle and waiting for the disk
    return share


def reference_loop_ms() -> float:
    """Processor time of a loop that is always the same: how fast the machine is just now, for
    whoever compares two runs on a machine that is not always equally fast."""
    before, total = time.process_time(), 0
    for number in range(1_000_000):
        total += number & 7
    return 1000 * (time.process_time() - before)


def own_cpu() -> float:
    """Seconds of processor time that this process has used, without those it started."""
    return time.process_time()


def _times() -> list[int]:
    """user nice system idle iowait irq softirq steal, in ticks (proc(5))."""
    return [int(part) for part in Path("/proc/stat").read_text().split("\n")[0].split()[1:9]]
