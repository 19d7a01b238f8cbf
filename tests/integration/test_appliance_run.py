"""The running appliance: what dies comes back, one at a time, and Ctrl-C ends all of it."""

from __future__ import annotations

import os
import shutil
import signal
import stat
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from deploy.appliance.processes import family, started_at
from tests.appliance import NAMES, Appliance, environment, free_port, refused

COMES_BACK_S = 60.0
NOTICED_S = 150.0  # asking the six takes a while when none of them answers
# Thirty in a house; what a person may set it to is no more than a quicker clock for the same looks.
HANG_S = "8"
pytestmark = pytest.mark.timeout(300)


@pytest.fixture(scope="module")
def place() -> Iterator[Path]:
    """A directory outside pytest's own, which is closed to the user PostgreSQL runs as."""
    path = Path(tempfile.mkdtemp(prefix="konak-run-"))
    path.chmod(0o755)
    yield path
    shutil.rmtree(path)


@pytest.fixture(scope="module")
def appliance(place: Path, starter_model: Path) -> Iterator[Appliance]:
    running = Appliance(place / "data", starter_model, KONAK_HANG_S=HANG_S)
    running.start()
    eventually(running.is_ready)
    yield running
    running.stop()


def eventually(holds: Callable[[], bool], within_s: float = COMES_BACK_S) -> None:
    limit = time.monotonic() + within_s
    while not holds():
        assert time.monotonic() < limit, "it did not come back"
        time.sleep(0.1)


def alive(pid: int) -> bool:
    return started_at(pid) is not None


@pytest.mark.parametrize("name", NAMES)
def test_a_killed_process_is_started_again(appliance: Appliance, name: str) -> None:
    eventually(appliance.is_ready)
    before = appliance.pids()[name]
    os.kill(before, signal.SIGKILL)
    eventually(lambda: appliance.pids()[name] != before and alive(appliance.pids()[name]))
    eventually(appliance.is_ready)
    assert sorted(appliance.pids()) == sorted(NAMES)


def test_frozen_processes_are_noticed_and_started_again(appliance: Appliance) -> None:
    eventually(appliance.is_ready)
    before = appliance.pids()
    for leader in before.values():
        for pid in family(leader):
            os.kill(pid, signal.SIGSTOP)
    eventually(lambda: not set(before.items()) & set(appliance.pids().items()), NOTICED_S)
    eventually(appliance.is_ready)
    said = [line for line in appliance.lines if "no sign of life" in line]
    assert {line.split()[0] for line in said} == set(NAMES)


def test_a_second_start_on_the_same_data_is_refused(appliance: Appliance) -> None:
    arguments = ("--port", str(free_port()), "--data", str(appliance.data))
    done = refused(*arguments, env=environment())
    assert done.returncode != 0
    [line] = done.stderr.splitlines()
    assert "already runs" in line and str(appliance.process.pid) in line
    assert appliance.is_ready()


def test_processes_without_need_see_no_secret(appliance: Appliance) -> None:
    for name in ("postgres", "valkey", "engine"):
        seen = Path(f"/proc/{appliance.pids()[name]}/environ").read_bytes()
        assert b"KONAK_" not in seen
    assert b"KONAK_SECRET_KEY" in Path(f"/proc/{appliance.pids()['web']}/environ").read_bytes()


def test_secrets_and_sockets_are_closed_to_others(appliance: Appliance) -> None:
    def mode(path: str) -> int:
        return stat.S_IMODE((appliance.data / path).stat().st_mode)

    assert mode("secret-key") == 0o600
    assert mode("run/postgres") == 0o700
    assert mode("run/valkey.sock") & 0o077 == 0
    assert mode("") & 0o066 == 0


def test_one_interrupt_ends_everything(place: Path, starter_model: Path) -> None:
    appliance = Appliance(place / "ended", starter_model)
    appliance.start()
    assert appliance.first_link is not None and appliance.first_link.startswith(appliance.url)
    pids = appliance.pids()
    assert appliance.stop() == 0
    assert [name for name, pid in pids.items() if alive(pid)] == []


def test_left_overs_of_a_killed_start_are_coped_with(place: Path, starter_model: Path) -> None:
    appliance = Appliance(place / "left", starter_model)
    appliance.start()
    before = appliance.pids()
    appliance.process.kill()
    appliance.process.wait()
    appliance.start()
    assert [name for name, pid in before.items() if alive(pid)] == []
    assert appliance.stop() == 0


def test_a_long_data_path_still_gets_its_sockets(place: Path, starter_model: Path) -> None:
    appliance = Appliance(place / ("long" * 30) / "data", starter_model)
    appliance.start()
    assert appliance.stop() == 0
