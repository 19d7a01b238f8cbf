"""A program as long as a block of code lasts: for checks and tests, which need no supervisor."""

from __future__ import annotations

import contextlib
import os
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from deploy.appliance import postgres, processes
from deploy.appliance.messages import Refusal

START_LIMIT_S = 60.0
STOP_LIMIT_S = 10.0


@contextlib.contextmanager
def running(
    program: processes.Program, ready: Callable[[subprocess.Popen[bytes]], bool]
) -> Iterator[None]:
    """Start ``program``, enter the block when it is ``ready``, end it. Raises ``Refusal``."""
    process = processes.spawn(program)
    try:
        limit = time.monotonic() + START_LIMIT_S
        while not ready(process):
            if process.poll() is not None or time.monotonic() > limit:
                raise Refusal("not_ready", name=program.name, log=program.log)
            time.sleep(0.02)
        yield
    finally:
        process.send_signal(program.stop_signal)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(STOP_LIMIT_S)
        processes.kill_group(process.pid)
        process.wait()


@contextlib.contextmanager
def directory() -> Iterator[Path]:
    """A directory that is gone afterwards; PostgreSQL's user may pass through it."""
    with tempfile.TemporaryDirectory(prefix="konak-", ignore_cleanup_errors=True) as name:
        path = Path(name)
        path.chmod(0o711 if os.geteuid() == 0 else 0o700)
        yield path


@contextlib.contextmanager
def database(place: Path) -> Iterator[str]:
    """A PostgreSQL with an empty database, whose files and socket are in ``place``; its URL."""
    cluster = postgres.Cluster(place / "postgres", place / "pg", durable=False)
    account = postgres.ensure(cluster)
    program = postgres.program(cluster, account, place / "postgres.log")
    with running(program, lambda process: postgres.is_ready(cluster, process.pid)):
        yield cluster.url
