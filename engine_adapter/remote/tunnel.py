"""A way through a proxy: it is asked with CONNECT for a line to a host, and TLS begins inside it.

The proxy looks the host's name up, so what the name stands for is not seen here; ``may_be_public``
refuses what can be refused by the name alone. What goes through is sealed to the host.
"""

from __future__ import annotations

import asyncio
import base64
import ipaddress
import re
import socket
import ssl
from dataclasses import dataclass, field
from typing import Final, Self
from urllib.parse import unquote, urlsplit

from engine_adapter.remote.wire import Wire

HEAD_LIMIT: Final = 64 << 10  # bytes
_STATUS: Final = re.compile(rb"HTTP/1\.[01] (\d{3})[ \r]")
_HOST: Final = re.compile(r"[a-z0-9_.-]{1,253}", re.IGNORECASE | re.ASCII)
# RFC 6761, 6762, 8375 and 9476 keep these for one's own network.
_OWN: Final = ("localhost", "local", "internal", "home.arpa", "alt", "test", "invalid")


@dataclass(frozen=True, slots=True)
class Proxy:
    """Where a proxy listens, in plain HTTP, and what it is told of who asks (``user:password``)."""

    host: str
    port: int
    login: str = field(default="", repr=False)

    @classmethod
    def at(cls, url: str) -> Self:
        """From ``http://[user:password@]host[:port]``. Raises ``ValueError``."""
        parts = urlsplit(url)
        if parts.scheme != "http" or not parts.hostname or parts.path.strip("/") or parts.query:
            raise ValueError("A proxy's address is http://host:port.")
        login = f"{unquote(parts.username or '')}:{unquote(parts.password or '')}"
        return cls(parts.hostname, parts.port or 3128, "" if login == ":" else login)


class ProxyTrouble(OSError):
    """The proxy gives no line. ``status`` is what it says instead, None where it says nothing."""

    def __init__(self, status: int | None = None) -> None:
        super().__init__(f"the proxy gives no line ({status or 'it does not answer'})")
        self.status = status


async def through(proxy: Proxy, host: str, port: int, tls: ssl.SSLContext) -> Wire:
    """A line to ``host`` in TLS. Raises ``ProxyTrouble`` and other ``OSError``."""
    loop = asyncio.get_running_loop()
    asked = _request(proxy, host, port)
    try:
        transport, door = await loop.create_connection(_Door, proxy.host, proxy.port)
    except OSError as error:
        raise ProxyTrouble from error
    try:
        transport.write(asked)
        status = await door.answer
        if not 200 <= status < 300:
            raise ProxyTrouble(status)
        wire = Wire()
        sealed = await loop.start_tls(transport, wire, tls, server_hostname=host)
        if sealed is None:
            raise ConnectionResetError("the line broke while it was sealed")
        wire.connection_made(sealed)
    except BaseException:
        transport.abort()
        raise
    return wire


def may_be_public(host: str) -> bool:
    """Whether a host's name may belong to the open internet, as far as a name can tell: no address
    of one's own however it is spelt, no name without a dot, none that is kept for own networks."""
    try:
        return is_public(host)
    except ValueError:
        name = host.rstrip(".").lower()
    last = name.rpartition(".")[2]
    if "." not in name or last.isdigit() or re.fullmatch(r"0x[0-9a-f]*", last):
        return False  # a number is an address to many: 127.1, 0x7f.1
    return not any(name == own or name.endswith(f".{own}") for own in _OWN)


def is_public(host: str) -> bool:
    """Whether an IP address is one of the open internet. Raises ``ValueError`` for a name."""
    address = ipaddress.ip_address(host)
    if isinstance(address, ipaddress.IPv6Address) and address.ipv4_mapped is not None:
        address = address.ipv4_mapped
    return address.is_global and not address.is_multicast


def _request(proxy: Proxy, host: str, port: int) -> bytes:
    if ":" in host:
        name = f"[{ipaddress.ip_address(host)}]"
    else:
        try:
            name = host.encode("idna").decode("ascii")
        except UnicodeError:
            name = ""
        if not _HOST.fullmatch(name):
            raise socket.gaierror(socket.EAI_NONAME, "no name of a host")
    rows = [f"CONNECT {name}:{port} HTTP/1.1", f"Host: {name}:{port}", "User-Agent: konak"]
    if proxy.login:
        told = base64.b64encode(proxy.login.encode()).decode()
        rows.append(f"Proxy-Authorization: Basic {told}")
    return "\r\n".join([*rows, "", ""]).encode()


class _Door(asyncio.Protocol):
    """Reads what the proxy says before the line is through."""

    def __init__(self) -> None:
        self.answer: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        self._head = bytearray()

    def data_received(self, data: bytes) -> None:
        """Some bytes of its head came. The host itself says nothing before it is spoken to."""
        self._head += data
        if self.answer.done():
            return
        if b"\r\n\r\n" in self._head:
            status = _STATUS.match(self._head)
            self._say(int(status[1]) if status else None)
        elif len(self._head) > HEAD_LIMIT:
            self._say(None)

    def connection_lost(self, error: Exception | None) -> None:
        """It hung up."""
        self._say(None)

    def _say(self, status: int | None) -> None:
        if self.answer.done():
            return
        if status is None:
            self.answer.set_exception(ProxyTrouble())
        else:
            self.answer.set_result(status)
