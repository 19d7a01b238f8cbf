"""Web processes as a family: who dies is replaced, all end together, nobody is left behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.bench.web_spent import family

ROOT = Path(__file__).parents[2]
LIVE = """
import signal, sys, time
from deploy.family import Family
def live(beat):
    signal.signal(signal.SIGTERM, lambda *_: sys.exit())
    while True:
        beat()
        time.sleep(0.05)
Family(2, live, look_s=0.5).run()
print("all have ended")
"""
PATIENCE_S = 20


@pytest.fixture
def parent() -> Iterator[subprocess.Popen[str]]:
    process = subprocess.Popen(
        [sys.executable, "-c", LIVE], cwd=ROOT, stdout=subprocess.PIPE, text=True
    )
    yield process
    process.kill()
    process.communicate()


def children(parent: subprocess.Popen[str], count: int, *, but: set[int] = frozenset()) -> set[int]:
    """The children, once there are so many, none of them among ``but``."""
    limit = time.monotonic() + PATIENCE_S
    while time.monotonic() < limit:
        found = set(family(parent.pid)) - {parent.pid}
        if len(found) == count and not found & but:
            return found
        time.sleep(0.02)
    raise AssertionError(f"{found} are not {count}")


def gone(pids: set[int]) -> bool:
    limit = time.monotonic() + PATIENCE_S
    while any(Path(f"/proc/{pid}/cmdline").exists() and _lives(pid) for pid in pids):
        if time.monotonic() > limit:
            return False
        time.sleep(0.02)
    return True


def _lives(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] not in "ZX"
    except OSError:
        return False


def test_who_dies_is_replaced(parent: subprocess.Popen[str]) -> None:
    first = children(parent, 2)
    for pid in first:
        os.kill(pid, signal.SIGKILL)
    assert len(children(parent, 2, but=first)) == 2


def test_who_hangs_is_replaced_and_the_other_stays(parent: subprocess.Popen[str]) -> None:
    first = children(parent, 2)
    frozen = min(first)
    os.kill(frozen, signal.SIGSTOP)
    assert len(children(parent, 2, but={frozen})) == 2
    assert first - {frozen} < children(parent, 2, but={frozen})


def test_all_end_together_and_the_parent_last(parent: subprocess.Popen[str]) -> None:
    both = children(parent, 2)
    parent.send_signal(signal.SIGTERM)
    output, _ = parent.communicate(timeout=PATIENCE_S)
    assert (parent.returncode, output) == (0, "all have ended\n")
    assert gone(both)


def test_nobody_outlives_a_parent_that_was_killed(parent: subprocess.Popen[str]) -> None:
    both = children(parent, 2)
    parent.kill()
    parent.wait()
    assert gone(both)
