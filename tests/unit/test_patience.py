"""Patience with a process: who rests and says nothing is hung, who computes gets more time."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator

import pytest

from deploy.appliance.patience import MOST_SILENT, WHILE_COMPUTING, Patience
from deploy.appliance.processes import kill_family

WHILE_BUSY = round(MOST_SILENT / WHILE_COMPUTING)


@pytest.fixture
def resting() -> Iterator[Patience]:
    with subprocess.Popen(["sleep", "600"]) as process:
        yield Patience(process.pid)
        process.kill()


@pytest.fixture
def busy() -> Iterator[Patience]:
    """A process that only waits for its child, which computes."""
    child = "import os\nif not os.fork():\n while True: pass\nos.wait()"
    with subprocess.Popen([sys.executable, "-c", child], start_new_session=True) as process:
        yield Patience(process.pid)
        kill_family(process.pid)


def test_who_rests_in_silence_is_hung_after_a_few_looks(resting: Patience) -> None:
    looks = [resting.ends(sign=False) for _ in range(MOST_SILENT + 1)]
    assert looks[-1]
    assert not any(looks[: MOST_SILENT - 1])


def test_a_sign_forgives_all_silence(resting: Patience) -> None:
    silence = [resting.ends(sign=False) for _ in range(MOST_SILENT - 1)]
    assert not resting.ends(sign=True)
    assert not any([*silence, *(resting.ends(sign=False) for _ in range(MOST_SILENT - 1))])


def test_who_computes_is_given_time_though_not_for_ever(busy: Patience) -> None:
    looks = 1
    while not busy.ends(sign=False):
        looks += 1
        assert looks <= 2 * WHILE_BUSY
        time.sleep(0.05)  # a few of the kernel's ticks
    assert looks > 2 * MOST_SILENT
