"""What lies behind a connection that does not come about: the system's errors as causes. Pure."""

from __future__ import annotations

import errno
import socket
import ssl

from engine_adapter.errors import Cause, Unreachable
from engine_adapter.remote.tunnel import ProxyTrouble
from engine_adapter.remote.wires import NotPublic

_CLOSED = {errno.ECONNREFUSED, errno.ENOENT, errno.EACCES, errno.ECONNRESET}
_SILENT = {errno.ETIMEDOUT}


def unreachable(error: BaseException | None) -> Unreachable:
    """The error that stands for ``error``, which came up while connecting."""
    if isinstance(error, NotPublic):
        return Unreachable(f"{error}, and nothing else may be asked here.").because("private")
    if isinstance(error, ProxyTrouble):
        return Unreachable(f"There is no way out: {error}.").because(_proxy(error.status))
    if isinstance(error, socket.gaierror):
        return Unreachable("The engine's host name is not known here.").because("name")
    if isinstance(error, ssl.SSLCertVerificationError):
        why = error.verify_message or "it cannot be verified"
        return Unreachable(f"The engine's certificate is not trusted: {why}.").because(
            "certificate"
        )
    if isinstance(error, ssl.SSLError):
        return Unreachable(
            f"TLS with the engine failed ({error.reason or 'no reason told'}); does it speak http:"
            " where https: was entered?"
        ).because("tls")
    return Unreachable(f"The engine cannot be reached ({error}).").because(_cause(error))


def _proxy(status: int | None) -> Cause:
    if status is None:
        return "proxy"
    return "proxy_key" if status == 407 else "proxy_no"


def _cause(error: BaseException | None) -> Cause:
    numbers = {getattr(error, "errno", None)}
    # Where a name has several addresses and all fail, asyncio tells them in one text.
    numbers |= {number for number in _CLOSED | _SILENT if f"[Errno {number}]" in str(error)}
    if numbers & _CLOSED:
        return "closed"
    return "silent" if numbers & _SILENT else "no_way"
