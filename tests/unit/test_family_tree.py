"""Who was started by whom, looked up while processes and threads come and go."""

from __future__ import annotations

import subprocess
import sys
import time

from deploy.appliance.processes import family, kill_family

RESTLESS = """
import subprocess, threading
def rest():
    while True:
        t = threading.Thread(target=str); t.start(); t.join()
threading.Thread(target=rest, daemon=True).start()
while True:
    subprocess.run(["/bin/sh", "-c", "/bin/true; /bin/true"])
"""


def test_what_vanishes_while_it_is_looked_at_disturbs_nobody() -> None:
    process = subprocess.Popen([sys.executable, "-c", RESTLESS])
    try:
        largest = 0
        end = time.monotonic() + 3
        while time.monotonic() < end:
            found = family(process.pid)
            assert found[0] == process.pid
            largest = max(largest, len(found))
        assert largest > 1
    finally:
        kill_family(process.pid)
        process.wait()


def test_who_is_gone_has_no_family() -> None:
    process = subprocess.Popen(["/bin/true"])
    process.wait()
    assert family(process.pid) == [process.pid]
