"""One HTTP/1.1 exchange after the other over one connection: bytes out, status, headers, bytes in.

What httpx's own transport does, at a small part of its cost for each piece of a stream; an engine
that writes for fifty people sends a thousand a second. Knows no dialect and no httpx.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

import httptools

HEADERS_LIMIT = 64 << 10  # bytes; nothing else bounds them
BUFFER_LIMIT = 256 << 10  # bytes of a body that nobody has taken yet; then reading pauses


class WireError(Exception):
    """The exchange cannot go on; the text says why."""


class Broke(WireError):
    """The other side hung up."""


class Malformed(WireError):
    """The other side does not speak HTTP/1.1."""


@dataclass(frozen=True, slots=True)
class Head:
    """A reply before its body."""

    status: int
    headers: list[tuple[bytes, bytes]]


class Wire(asyncio.Protocol):
    """A connection. ``reusable`` once a reply is read and another request may follow."""

    def __init__(self) -> None:
        self.reusable = False
        self.idle_since = 0.0
        self._loop = asyncio.get_running_loop()
        self._transport: asyncio.Transport | None = None
        self._error: WireError | None = None
        self._paused = False
        self._timer: asyncio.TimerHandle | None = None
        self._due_at = self._timer_at = 0.0
        self._begin()

    def _begin(self) -> None:
        self._parser = httptools.HttpResponseParser(self)
        self._headers: list[tuple[bytes, bytes]] = []
        self._size = 0
        self._unread_head = 0
        self._head: Head | None = None
        self._body: list[bytes] = []
        self._unread = 0
        self._done = False
        self._waiter: asyncio.Future[None] | None = None

    # What the caller does

    async def ask(self, request: bytes, within_s: float | None = None) -> Head:
        """Send ``request``; the head of its reply. Raises ``WireError`` and ``TimeoutError``."""
        self.reusable = False
        self._pause(False)
        self._begin()
        if self._transport is None or self._error is not None:
            raise self._error or Broke("The connection is closed.")
        self._transport.write(request)
        while self._head is None:
            await self._news(within_s)
        return self._head

    async def read(self, within_s: float | None = None, *, then_pause: bool = False) -> bytes:
        """What has come of the body, at least a byte; none at its end. ``then_pause``: until it is
        read again, what comes waits where it costs nothing.

        Raises ``WireError``, and ``TimeoutError`` when nothing comes for so long.
        """
        self._pause(False)
        while not self._body:
            if self._done:
                return b""
            await self._news(within_s)
        self._pause(then_pause)
        data = self._body[0] if len(self._body) == 1 else b"".join(self._body)
        self._body.clear()
        self._unread = 0
        return data

    def _pause(self, paused: bool) -> None:
        if paused is not self._paused and self._transport is not None and self._error is None:
            self._paused = paused
            if paused:
                self._transport.pause_reading()
            else:
                self._transport.resume_reading()

    def close(self) -> None:
        """Hang up. Whoever waits for something hears of it."""
        if self._transport is not None:
            self._transport.abort()
        self._fail(Broke("The connection was closed here."))

    @property
    def is_open(self) -> bool:
        """Whether it can be used."""
        return self._error is None

    async def _news(self, within_s: float | None) -> None:
        if self._error is not None:
            raise self._error
        self._waiter = self._loop.create_future()
        if within_s is not None:
            self._due_at = self._loop.time() + within_s
            if self._timer is None or self._timer_at > self._due_at:
                self._set_timer()
        try:
            await self._waiter
        finally:
            self._waiter = None

    def _set_timer(self) -> None:
        """One timer for many waits, which looks again when it fires: one a wait costs more than all
        else that is done for a piece of a stream."""
        if self._timer is not None:
            self._timer.cancel()
        self._timer_at = self._due_at
        self._timer = self._loop.call_at(self._due_at, self._look_at_the_time)

    def _look_at_the_time(self) -> None:
        self._timer = None
        if self._waiter is None or self._waiter.done():
            return
        if self._loop.time() < self._due_at:
            self._set_timer()
        else:
            self._waiter.set_exception(TimeoutError())

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    def _fail(self, error: WireError) -> None:
        if self._error is None:
            self._error = error
        self.reusable = False
        self._wake()
        if self._timer is not None:
            self._timer.cancel()

    # What asyncio calls

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """The line is there."""
        self._transport = transport  # type: ignore[assignment]  # uvloop's is no asyncio.Transport

    def data_received(self, data: bytes) -> None:
        """Some bytes came."""
        if self._done:
            self._fail(Malformed("The engine sent more than its reply."))
        else:
            try:
                self._parser.feed_data(data)
            except httptools.HttpParserUpgrade:
                self._fail(Malformed("The engine wants another protocol."))
            except httptools.HttpParserError as error:
                self._fail(Malformed(f"The engine's reply is no HTTP: {error}"))
        if self._head is None:  # a line that does not end is told by the parser only at its end
            self._unread_head += len(data)
            if self._unread_head > HEADERS_LIMIT:
                self._fail(Malformed(f"headers of more than {HEADERS_LIMIT} bytes"))
        if self._error is not None and self._transport is not None:
            self._transport.abort()

    def connection_lost(self, error: Exception | None) -> None:
        """The line is gone. A body without a length ends so."""
        if self._head is not None and error is None:
            names = {name.lower() for name, _ in self._head.headers}
            self._done |= names.isdisjoint({b"content-length", b"transfer-encoding"})
        self._fail(Broke("The engine hung up."))

    # What the parser calls

    def on_message_begin(self) -> None:
        """A reply begins; after ours there is none to come."""
        if self._done:
            self._fail(Malformed("The engine sent more than its reply."))

    def on_header(self, name: bytes, value: bytes) -> None:
        """A header, or a trailer."""
        self._size += len(name) + len(value)
        if self._size > HEADERS_LIMIT:
            raise ValueError(f"headers of more than {HEADERS_LIMIT} bytes")
        self._headers.append((name, value))

    def on_headers_complete(self) -> None:
        """The head is here. One of the hundreds only announces another."""
        status = self._parser.get_status_code()
        if status >= 200 and not self._done:
            self._head = Head(status, self._headers)
            self._wake()
        self._headers = []

    def on_body(self, data: bytes) -> None:
        """A piece of the body."""
        if self._done:
            return
        self._unread += len(data)
        self._body.append(data)
        if self._unread > BUFFER_LIMIT:
            self._pause(True)
        self._wake()

    def on_message_complete(self) -> None:
        """The reply is whole."""
        if self._head is not None and not self._done:
            self._done = True
            self.reusable = self._parser.should_keep_alive()
            self._wake()
