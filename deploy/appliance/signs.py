"""Signs of life, each asked for in the process's own tongue; what is said in return is not read.

Whoever asks says how long it waits: the supervisor does nothing else meanwhile.
"""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Callable
from pathlib import Path

PING = b"PING\r\n"
# PostgreSQL's SSLRequest: a length, and a code that no version has. Answered before anything else.
SSL = bytes((0, 0, 0, 8, 4, 210, 22, 47))

Sign = Callable[[float], bool]  # is told how many seconds a question may wait


def get(path: str, host: str) -> bytes:
    """An HTTP request for ``path``. Whatever its status, an answer is a sign."""
    return f"GET {path} HTTP/1.0\r\nHost: {host}\r\nConnection: close\r\n\r\n".encode()


def replies(address: Path | tuple[str, int], words: bytes) -> Sign:
    """Who listens at ``address`` says something when ``words`` are said to it."""
    at = str(address) if isinstance(address, Path) else address

    def ask(within_s: float) -> bool:
        family = socket.AF_UNIX if isinstance(at, str) else _family(at)
        with contextlib.suppress(OSError), socket.socket(family) as line:
            line.settimeout(within_s)
            line.connect(at)
            line.sendall(words)
            return line.recv(1) != b""
        return False

    return ask


def touches(file: Path) -> Sign:
    """Somebody has touched ``file`` since it was last looked at. Its time is compared with itself:
    the clock may be set meanwhile."""
    last = 0

    def look(within_s: float) -> bool:
        nonlocal last
        before = last
        with contextlib.suppress(OSError):
            last = file.stat().st_mtime_ns
        return last != before

    return look


def _family(address: tuple[str, int]) -> socket.AddressFamily:
    return socket.AF_INET6 if ":" in address[0] else socket.AF_INET
