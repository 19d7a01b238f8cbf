"""The supervisor and a program that hangs: it is ended with its children and started again."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from deploy.appliance.processes import family, started_at

ROOT = Path(__file__).parents[2]
WATCH = """
import os, sys
from pathlib import Path
from deploy.appliance import signs
from deploy.appliance.processes import Program
from deploy.appliance.supervisor import StopRequested, Supervisor
file = Path(sys.argv[1])
lives = f'''
import os, pathlib, subprocess, time
subprocess.Popen(["sleep", "600"], start_new_session=True)
while True:
    pathlib.Path({str(file)!r}).touch()
    time.sleep(0.05)
'''
watching = Supervisor(lambda running: print(running["it"], flush=True), look_s=0.5)
command = [sys.executable, "-c", lives]
log = file.with_name("log")
watching.start(Program("it", command, os.environ, file.parent, log, sign=signs.touches(file)))
try:
    watching.watch()
except StopRequested:
    watching.stop([(["it"], 5.0)])
"""


@pytest.fixture
def watching(tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    command = [sys.executable, "-c", WATCH, str(tmp_path / "lives")]
    environment = {**os.environ, "LC_ALL": "C.UTF-8"}
    process = subprocess.Popen(
        command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        text=True,
    )  # fmt: skip
    yield process
    process.terminate()
    process.communicate(timeout=20)


def lines(process: subprocess.Popen[str], count: int) -> list[str]:
    assert process.stdout is not None
    return [process.stdout.readline().strip() for _ in range(count)]


@pytest.mark.timeout(60)
def test_who_hangs_is_ended_with_its_children_and_started_again(
    watching: subprocess.Popen[str], tmp_path: Path
) -> None:
    first = int(lines(watching, 1)[0])
    while len(family(first)) < 2 or not (tmp_path / "lives").exists():
        time.sleep(0.02)
    whole = family(first)
    for pid in whole:
        os.kill(pid, signal.SIGSTOP)
    said, second = lines(watching, 2)
    assert "no sign of life" in said and int(second) != first
    while any(map(started_at, whole)):
        time.sleep(0.02)
    assert started_at(int(second))
