"""The connections to one engine: made when needed, kept for a while, all closed together."""

from __future__ import annotations

import asyncio
import socket
import ssl
from dataclasses import dataclass, field

from engine_adapter.remote.tunnel import Proxy, is_public, may_be_public, through
from engine_adapter.remote.wire import Wire

MOST = 512  # open at once
MOST_IDLE = 32
IDLE_S = 15.0


@dataclass(frozen=True, slots=True)
class Address:
    """Where an engine listens: a Unix socket, or a host, in TLS where there is a context. With
    ``public_only`` nothing is connected to that is not on the open internet. With a ``proxy``,
    which needs TLS, it is that which connects."""

    host: str
    port: int
    tls: ssl.SSLContext | None = None
    socket: str | None = None
    public_only: bool = False
    proxy: Proxy | None = None


class NotPublic(OSError):
    """The host's address belongs to this machine or to a network of somebody's own."""


class AllInUse(Exception):
    """As many connections are open as may be."""


@dataclass(eq=False)
class Wires:
    """All connections to ``address``."""

    address: Address
    _idle: list[Wire] = field(default_factory=list)
    _all: set[Wire] = field(default_factory=set)
    _room: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(MOST))

    async def take(self, *, connect_s: float | None, wait_s: float | None) -> tuple[Wire, bool]:
        """A connection, and whether it was used before.

        Raises ``OSError`` and ``TimeoutError`` where none comes about, ``AllInUse`` where
        that lasted for ``wait_s``.
        """
        while self._idle:
            wire = self._idle.pop()
            fresh = asyncio.get_running_loop().time() - wire.idle_since < IDLE_S
            if fresh and wire.is_open:
                return wire, True
            self.drop(wire)
        try:
            async with asyncio.timeout(wait_s):
                await self._room.acquire()
        except TimeoutError:
            raise AllInUse("all connections are in use") from None
        try:
            async with asyncio.timeout(connect_s):
                wire = await self._connect()
        except BaseException:
            self._room.release()
            raise
        self._all.add(wire)
        return wire, False

    async def _connect(self) -> Wire:
        loop, to = asyncio.get_running_loop(), self.address
        if to.socket is not None:
            _, wire = await loop.create_unix_connection(Wire, to.socket)
        elif to.proxy is not None and to.tls is not None:
            if to.public_only and not may_be_public(to.host):
                raise NotPublic(f"{to.host} is not on the open internet")
            wire = await through(to.proxy, to.host, to.port, to.tls)
        elif to.public_only:
            wire = await self._connect_in_public()
        else:
            _, wire = await loop.create_connection(Wire, to.host, to.port, ssl=to.tls)
        return wire

    async def _connect_in_public(self) -> Wire:
        """To the very addresses that were looked at: a name may mean another one a moment later."""
        loop, to = asyncio.get_running_loop(), self.address
        found = await loop.getaddrinfo(to.host, to.port, type=socket.SOCK_STREAM)
        hosts = list(dict.fromkeys(str(told[0]) for *_, told in found))
        if not hosts or not all(map(is_public, hosts)):
            raise NotPublic(f"{to.host} is not on the open internet")
        name = to.host if to.tls else None
        for host in hosts[:-1]:
            try:
                _, wire = await loop.create_connection(
                    Wire, host, to.port, ssl=to.tls, server_hostname=name
                )
            except OSError:
                continue  # of another family, which has no way out here
            return wire
        _, wire = await loop.create_connection(
            Wire, hosts[-1], to.port, ssl=to.tls, server_hostname=name
        )
        return wire

    def give(self, wire: Wire) -> None:
        """Done with it: kept where it can be used again."""
        if wire.reusable and wire.is_open and len(self._idle) < MOST_IDLE:
            wire.idle_since = asyncio.get_running_loop().time()
            self._idle.append(wire)
        else:
            self.drop(wire)

    def drop(self, wire: Wire) -> None:
        """Hang up."""
        wire.close()
        if wire in self._all:
            self._all.remove(wire)
            self._room.release()

    def close(self) -> None:
        """Hang up everywhere; running exchanges break."""
        self._idle.clear()
        for wire in list(self._all):
            self.drop(wire)
