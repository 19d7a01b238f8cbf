"""A lean HTTP client for measuring: one connection a request, SSE scanned as bytes.

It shares the cores with the server it measures, so it parses JSON only where an answer ends.
"""

from __future__ import annotations

import asyncio
import json
import re
import time
from dataclasses import dataclass, field
from typing import Any, cast
from urllib.parse import urlsplit

Json = dict[str, Any]
TOKEN = re.compile(rb'"(?:content|reasoning_content|reasoning)":\s*"[^"]')
FINISH = re.compile(rb'"finish_reason":\s*"(\w+)"')
USAGE = re.compile(rb'"usage":\s*\{')
ERROR = re.compile(rb'^(?:data:\s*\{\s*"error"|error:)')


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where a server listens: a path of a Unix socket, or a host with its port."""

    path: str | None = None
    host: str = "127.0.0.1"
    port: int = 80
    prefix: str = ""

    @classmethod
    def parse(cls, url: str) -> Endpoint:
        """``unix:///path`` or ``http://host:port``, where a closing ``/v1`` does no harm.
        Raises ``ValueError``."""
        parts = urlsplit(url)
        if parts.scheme == "unix" and parts.path:
            return cls(path=parts.path)
        if parts.scheme != "http" or not parts.hostname:
            raise ValueError(f"{url} is neither http://host:port nor unix:///path.")
        prefix = parts.path.rstrip("/").removesuffix("/v1")
        return cls(host=parts.hostname, port=parts.port or 80, prefix=prefix)


@dataclass(slots=True)
class Answer:
    """What came back for one request, with moments in seconds of ``time.perf_counter``.

    ``frames`` are the moments at which text came; a server may put several tokens into one frame
    or none, so tokens are counted by ``usage``. ``status`` is 0 where no reply came at all.
    """

    sent: float
    frames: list[float] = field(default_factory=list)
    end: float = 0.0
    status: int = 0
    finish: str | None = None
    error: str | None = None
    usage: Json | None = None
    asked_tokens: int = 0
    body: bytes = b""
    lines: list[bytes] = field(default_factory=list)

    @property
    def ok(self) -> bool:
        """The answer ended in order."""
        return self.status == 200 and self.finish is not None and self.error is None

    @property
    def first(self) -> float:
        """Seconds from the request to its first token; infinite where none came."""
        return self.frames[0] - self.sent if self.frames else float("inf")

    @property
    def tokens(self) -> int:
        """Tokens written: what the server says; where it says nothing, an answer that ended with
        ``length`` has what was asked for, and any other counts its frames."""
        if self.usage is not None:
            return int(self.usage.get("completion_tokens", 0))
        return self.asked_tokens if self.finish == "length" else len(self.frames)

    @property
    def cached(self) -> int:
        """Prompt tokens that the server says it did not compute again."""
        details = (self.usage or {}).get("prompt_tokens_details") or {}
        return int(details.get("cached_tokens") or 0)

    @property
    def text(self) -> str:
        """The words of the answer, where they were asked to be kept."""
        pieces = []
        for line in self.lines:
            for choice in json.loads(line[5:]).get("choices", []):
                pieces.append((choice.get("delta") or {}).get("content") or "")
        return "".join(pieces)


class Exchange(asyncio.Protocol):
    """One request and its reply. ``done`` is set when the reply has ended, however it ended;
    ``writing`` when ``enough`` frames with text have come, or at the end."""

    def __init__(self, request: bytes, answer: Answer, *, keep: bool, enough: int) -> None:
        loop = asyncio.get_running_loop()
        self.done: asyncio.Future[None] = loop.create_future()
        self.writing: asyncio.Future[None] = loop.create_future()
        self._request = request
        self._answer = answer
        self._keep = keep
        self._enough = enough
        self._raw = bytearray()
        self._text = bytearray()
        self._in_head = True
        self._chunked = False
        self._streams = False
        self._left: int | None = None  # bytes of the chunk or of the body still to come
        self._transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)  # uvloop's own are no subclass
        self._transport.write(self._request)

    def data_received(self, data: bytes) -> None:
        now = time.perf_counter()
        self._raw += data
        if self._in_head and not self._head():
            return
        ended = self._dechunk() if self._chunked else self._take()
        if self._streams:
            self._scan(now)
        if ended:
            self._end()

    def connection_lost(self, exc: Exception | None) -> None:
        answer = self._answer
        if not self.done.done() and answer.finish is None and answer.error is None:
            answer.error = f"the connection ended: {exc or 'closed by the server'}"
        self._end()

    def leave(self) -> None:
        """Go away in the midst of it, as a closed tab does."""
        if self._transport is not None:
            self._transport.abort()
        self._end()

    def _head(self) -> bool:
        head, gap, rest = bytes(self._raw).partition(b"\r\n\r\n")
        if not gap:
            return False
        self._in_head = False
        self._raw = bytearray(rest)
        lines = head.lower().split(b"\r\n")
        headers = dict(line.split(b":", 1) for line in lines[1:] if b":" in line)
        self._answer.status = int(lines[0].split()[1])
        self._chunked = b"chunked" in headers.get(b"transfer-encoding", b"")
        if not self._chunked and b"content-length" in headers:
            self._left = int(headers[b"content-length"])
        self._streams = b"event-stream" in headers.get(b"content-type", b"")
        return True

    def _take(self) -> bool:
        """Move on what came of a plain body; whether that was all."""
        self._text += self._raw
        if self._left is not None:
            self._left -= len(self._raw)
        self._raw.clear()
        return self._left is not None and self._left <= 0

    def _dechunk(self) -> bool:
        """Move on what is complete of a chunked body; whether the last chunk has come."""
        raw = self._raw
        at = 0
        ended = False
        while True:
            end = raw.find(b"\r\n", at)
            if end < 0:
                break
            size = int(raw[at:end].split(b";")[0], 16)
            if size == 0:
                ended = True
                break
            if len(raw) < end + 4 + size:
                break
            self._text += raw[end + 2 : end + 2 + size]
            at = end + 4 + size
        del raw[:at]
        return ended

    def _scan(self, now: float) -> None:
        """Look at the complete lines of the stream."""
        if (last := self._text.rfind(b"\n")) < 0:
            return
        lines = bytes(self._text[:last]).split(b"\n")
        del self._text[: last + 1]
        answer = self._answer
        for line in lines:
            if TOKEN.search(line):
                answer.frames.append(now)
                if self._keep:
                    answer.lines.append(line)
                if len(answer.frames) == self._enough and not self.writing.done():
                    self.writing.set_result(None)
            elif ERROR.match(line):
                answer.error = line.decode(errors="replace")[:300]
            if found := FINISH.search(line):
                answer.finish = found[1].decode()
            if USAGE.search(line):
                answer.usage = json.loads(line[5:])["usage"]

    def _end(self) -> None:
        if self.done.done():
            return
        answer = self._answer
        answer.end = time.perf_counter()
        answer.body = bytes(self._text)
        if answer.status != 200 and answer.error is None:
            answer.error = f"HTTP {answer.status}: {answer.body.decode(errors='replace')[:300]}"
        self.done.set_result(None)
        if not self.writing.done():
            self.writing.set_result(None)
        if self._transport is not None:
            self._transport.close()


class Call:
    """A request under way: its answer so far, and the ways to wait for it or to leave."""

    def __init__(self, answer: Answer, exchange: Exchange | None) -> None:
        self.answer = answer
        self._exchange = exchange

    async def whole(self) -> Answer:
        """The answer when it has ended."""
        if self._exchange is not None:
            await self._exchange.done
        return self.answer

    async def begun(self) -> None:
        """Return when the answer is being written, or has ended."""
        if self._exchange is not None:
            await self._exchange.writing

    def leave(self) -> None:
        """Cut the connection."""
        if self._exchange is not None:
            self._exchange.leave()


async def send(
    endpoint: Endpoint, path: str, body: Json | None = None, *, keep: bool = False, enough: int = 1
) -> Call:
    """Ask; the call is returned once the request is on its way. POST with a body, else GET."""
    data = b"" if body is None else json.dumps(body).encode()
    head = (
        f"{'GET' if body is None else 'POST'} {endpoint.prefix}{path} HTTP/1.1\r\n"
        f"Host: {endpoint.host}\r\nConnection: close\r\n"
        f"Content-Type: application/json\r\nContent-Length: {len(data)}\r\n\r\n"
    )
    answer = Answer(time.perf_counter(), asked_tokens=(body or {}).get("max_tokens") or 0)
    exchange = Exchange(head.encode() + data, answer, keep=keep, enough=enough)
    loop = asyncio.get_running_loop()
    try:
        if endpoint.path is not None:
            await loop.create_unix_connection(lambda: exchange, endpoint.path)
        else:
            await loop.create_connection(lambda: exchange, endpoint.host, endpoint.port)
    except OSError as error:
        answer.end, answer.error = time.perf_counter(), f"no connection: {error}"
        return Call(answer, None)
    return Call(answer, exchange)


async def get(endpoint: Endpoint, path: str) -> Answer:
    """The reply to a GET, whatever it is."""
    return await (await send(endpoint, path)).whole()
