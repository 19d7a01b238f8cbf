"""One program as a child process: started so that it cannot outlive us unseen, and ended.

Each child leads a process group of its own, so that a Ctrl-C at the terminal reaches only us, and
so that what a child has started can be ended with it.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import os
import signal
import subprocess
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

PR_SET_PDEATHSIG = 1
LOG_KEEP_BYTES = 5_000_000
# What a program that needs no secret may see of our environment.
HARMLESS = (
    *("HOME", "PATH", "LANG", "LC_ALL", "LC_CTYPE", "LC_MESSAGES", "TMPDIR", "TZ"),
    *("LD_LIBRARY_PATH", "CUDA_VISIBLE_DEVICES", "OMP_NUM_THREADS", "GOMP_SPINCOUNT"),
)

_libc = ctypes.CDLL(None, use_errno=True)


@dataclass(frozen=True)
class Account:
    """The system user a program runs as, when that is not ours."""

    name: str
    uid: int
    gid: int


def nothing() -> None:
    """Nothing needs doing before a start."""


@dataclass(frozen=True)
class Program:
    """How one process is started. ``before_start`` runs ahead of every start, restarts included.

    ``sign`` tells whether there is a sign of life since it was last asked, within the seconds that
    it is given, and never raises.
    """

    name: str
    command: Sequence[str]
    environment: Mapping[str, str]
    directory: Path
    log: Path
    stop_signal: signal.Signals = signal.SIGTERM
    account: Account | None = None
    before_start: Callable[[], None] = nothing
    sign: Callable[[float], bool] | None = None


def harmless_environment() -> dict[str, str]:
    """The part of our environment that carries no secret."""
    return {name: os.environ[name] for name in HARMLESS if name in os.environ}


def spawn(program: Program, output: int | None = None) -> subprocess.Popen[bytes]:
    """Start ``program``; standard output goes to ``output`` or, like the rest, to its log.

    Must be called from the main thread: the kernel ties the parent-death signal to the thread.
    """
    program.before_start()
    account = program.account
    with program.log.open("ab") as log:
        return subprocess.Popen(  # noqa: S603 - our own programs
            list(program.command),
            stdin=subprocess.DEVNULL,
            stdout=log if output is None else output,
            stderr=log,
            cwd=program.directory,
            env=dict(program.environment),
            start_new_session=True,
            preexec_fn=functools.partial(end_with_parent, program.stop_signal, os.getpid()),
            user=account.uid if account else None,
            group=account.gid if account else None,
            extra_groups=[] if account else None,  # those of the old user go
        )


def end_with_parent(stop_signal: signal.Signals, parent: int) -> None:
    """In a child before exec: be sent ``stop_signal`` when ``parent`` dies, however it dies."""
    _libc.prctl(PR_SET_PDEATHSIG, int(stop_signal), 0, 0, 0)
    if os.getppid() != parent:
        os._exit(1)


def kill_group(leader: int) -> None:
    """End at once whatever is left of the group that ``leader`` led."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(leader, signal.SIGKILL)


def family(pid: int) -> list[int]:
    """The process and everything it has started that lives, itself first."""
    found = [pid]
    for member in found:
        for task in _tasks(member):
            # Threads and processes end while they are looked at: then there is nothing to read.
            with contextlib.suppress(OSError):
                found += map(int, (task / "children").read_text().split())
    return found


def _tasks(pid: int) -> list[Path]:
    try:
        return list(Path(f"/proc/{pid}/task").iterdir())
    except OSError:
        return []


def kill_family(pid: int) -> None:
    """End the process at once with all it has started, in whatever groups they are."""
    for member in family(pid):
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(member, signal.SIGKILL)


def started_at(pid: int) -> int | None:
    """The start time of a process in clock ticks since boot; None when there is none.

    Together with the pid it names one process: pids are used again, the pair is not.
    """
    try:
        stat = Path(f"/proc/{pid}/stat").read_bytes()
    except OSError:
        return None
    fields = stat[stat.rindex(b")") + 2 :].split()
    return None if fields[0] in {b"Z", b"X"} else int(fields[19])


def turn_log(log: Path) -> None:
    """Keep one older log, so that a log never grows past twice the limit by restarts alone."""
    if log.exists() and log.stat().st_size > LOG_KEEP_BYTES:
        log.replace(log.with_suffix(".log.1"))
