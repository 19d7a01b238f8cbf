"""Processes beside the engine: some that never rest, some that live as web processes do.

Each has a session of its own, as all that the supervisor starts: where the kernel shares the
processor out by session, they compete as in the appliance.
"""

from __future__ import annotations

import contextlib
import subprocess
import sys
from collections.abc import Iterator

from tests.bench.machine import ROOT

SPIN = [sys.executable, "-c", "while True: pass"]
BURST = [sys.executable, "-m", "tests.bench.bursts"]


@contextlib.contextmanager
def spinning(count: int) -> Iterator[None]:
    """So many processes that use a core each, as long as the block lasts."""
    with _running(SPIN, count):
        yield


@contextlib.contextmanager
def bursting(count: int) -> Iterator[list[float]]:
    """So many processes that compute a little now and then. After the block the list has, in
    seconds, how long each burst took from the moment when it was due."""
    took: list[float] = []
    with _running(BURST, count) as processes:
        yield took
        for process in processes:
            process.terminate()
            words, _ = process.communicate()
            took += map(float, words.splitlines()[1:])  # the first had to wake the processor


@contextlib.contextmanager
def _running(command: list[str], count: int) -> Iterator[list[subprocess.Popen[str]]]:
    processes = [
        subprocess.Popen(
            command, cwd=ROOT, stdout=subprocess.PIPE, text=True, start_new_session=True
        )
        for _ in range(count)
    ]
    try:
        yield processes
    finally:
        for process in processes:
            process.kill()
        for process in processes:
            with process:  # waits, and closes its output
                pass
