"""What must hold before anything is started: a free port, room on the disk, an answering web page.

Looks, and changes nothing.
"""

from __future__ import annotations

import errno
import shutil
import socket
from pathlib import Path
from urllib.parse import urlsplit

from deploy.appliance import signs
from deploy.appliance.messages import Refusal, size


def port_is_free(host: str, port: int) -> None:
    """Raise ``Refusal`` when ``host:port`` cannot be listened on."""
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        with socket.socket(family, kind, protocol) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(address)
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            raise Refusal("port_taken", host=host, port=port) from error
        if error.errno == errno.EACCES:
            raise Refusal("port_forbidden", port=port) from error
        raise Refusal("host_unknown", host=host) from error


def room_for(path: Path, need: int) -> None:
    """Raise ``Refusal`` when the file system of ``path`` has less than ``need`` bytes free."""
    place = next(p for p in (path, *path.parents) if p.exists())
    free = shutil.disk_usage(place).free
    if free < need:
        raise Refusal("disk_full", path=path, free=size(free), need=size(need))


def web_answers(host: str, port: int, public_url: str) -> bool:
    """True when ``GET /healthz`` answers 200."""
    try:
        with socket.create_connection(web_address(host, port), timeout=2) as connection:
            connection.sendall(web_question(public_url))
            return connection.recv(12)[9:12] == b"200"
    except OSError:
        return False


def web_address(host: str, port: int) -> tuple[str, int]:
    """Where this machine reaches what listens on ``host:port``."""
    here = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)  # noqa: S104 - compared, not bound
    return here, port


def web_question(public_url: str) -> bytes:
    """The health page asked for as people ask for pages."""
    return signs.get("/healthz", urlsplit(public_url).netloc)
