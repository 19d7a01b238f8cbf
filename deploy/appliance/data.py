"""The data directory: taken by one appliance at a time, laid out, cleared of left-overs.

Knows directories, the lock and the record of process ids; not what the processes are.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import json
import os
import shutil
import signal
import stat
import time
from collections.abc import Iterator
from pathlib import Path

from deploy.appliance import processes
from deploy.appliance.config import Configuration
from deploy.appliance.messages import Refusal

BOOT_ID = Path("/proc/sys/kernel/random/boot_id")
LEFTOVER_GRACE_S = 8.0


@contextlib.contextmanager
def taken(config: Configuration) -> Iterator[None]:
    """Hold the data directory for this appliance alone; ``Refusal`` when another one has it.

    A directory made here is taken away again when a refusal comes before anything whole is in it.
    """
    made = _make_parents(config.data)
    try:
        descriptor = os.open(config.data / "lock", os.O_RDWR | os.O_CREAT, 0o600)
    except OSError as error:
        raise Refusal("cannot_write", path=config.data, reason=error.strerror) from error
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            owner = os.pread(descriptor, 32, 0).decode().strip() or "?"
            raise Refusal("already_running", path=config.data, pid=owner) from error
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, f"{os.getpid()}\n".encode(), 0)
        try:
            yield
        except OSError as error:
            if error.errno == errno.ENOSPC:
                raise Refusal("disk_filled", path=config.data) from error
            path = error.filename or config.data
            raise Refusal("cannot_write", path=path, reason=error.strerror) from error
    except Refusal:
        if made:
            _take_away(config, made)
        raise
    finally:
        os.close(descriptor)


def _take_away(config: Configuration, made: list[Path]) -> None:
    models = any(config.models.iterdir()) if config.models.exists() else False
    if models or (config.data / "postgres").exists():
        return
    shutil.rmtree(config.run, ignore_errors=True)
    shutil.rmtree(config.data, ignore_errors=True)
    for parent in made[1:]:
        with contextlib.suppress(OSError):
            parent.rmdir()


def _make_parents(path: Path) -> list[Path]:
    """Make ``path``; the directories that were not there before, innermost first."""
    missing = [p for p in (path, *path.parents) if not p.exists()]
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise Refusal("cannot_write", path=path, reason=error.strerror) from error
    return missing


def lay_out(config: Configuration) -> None:
    """Make the directories, closed to other users; the run directory starts empty.

    As root they may be passed through, not read: PostgreSQL runs as another user inside.
    """
    mode = 0o711 if os.geteuid() == 0 else 0o700
    if config.run.is_symlink() or (config.run.exists() and not _is_ours(config.run)):
        raise Refusal("cannot_write", path=config.run, reason=os.strerror(errno.EPERM))
    shutil.rmtree(config.run, ignore_errors=True)
    for directory in (config.data, config.run, config.logs, config.models):
        directory.mkdir(exist_ok=True)
        directory.chmod(mode)
    for log in config.logs.glob("*.log"):
        processes.turn_log(log)


def _is_ours(path: Path) -> bool:
    found = path.lstat()
    return stat.S_ISDIR(found.st_mode) and found.st_uid == os.geteuid()


def record(config: Configuration, running: dict[str, int]) -> None:
    """Remember which processes run, for the next start in case this one is killed."""
    known = {name: [pid, processes.started_at(pid)] for name, pid in running.items()}
    content = {"boot": _boot(), "processes": known}
    new = _record_file(config).with_suffix(".new")
    # A full disk must not stop the watching; then only the left-overs' record is old.
    with contextlib.suppress(OSError):
        new.write_text(json.dumps(content))
        new.replace(_record_file(config))


def end_leftovers(config: Configuration) -> None:
    """End what an appliance that was killed has left running on this data directory."""
    try:
        content = json.loads(_record_file(config).read_text())
    except (OSError, ValueError):
        return
    if content["boot"] != _boot():
        return
    for name, (pid, start) in content["processes"].items():
        if start is not None and processes.started_at(pid) == start:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGINT if name == "postgres" else signal.SIGTERM)
    limit = time.monotonic() + LEFTOVER_GRACE_S
    for pid, start in content["processes"].values():
        while processes.started_at(pid) == start is not None and time.monotonic() < limit:
            time.sleep(0.05)
        # Another process with this pid is a stranger; none at all may still have a group behind it.
        if processes.started_at(pid) in {None, start}:
            processes.kill_group(pid)


def clear(config: Configuration) -> None:
    """Take away what only means something while the processes run."""
    shutil.rmtree(config.run, ignore_errors=True)
    _record_file(config).unlink(missing_ok=True)


def _record_file(config: Configuration) -> Path:
    return config.data / "processes.json"


def _boot() -> str:
    try:
        return BOOT_ID.read_text().strip()
    except OSError:
        return ""
