"""A small HTTP/1.1 server behind which an imitated engine answers; it knows when its peer hangs up.

Knows no dialect: a profile says what is answered.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, Protocol

from tests.talks import talking

_LOOK_S = 0.02  # between two looks at whether the peer is still there


@dataclass(frozen=True)
class Call:
    """A request: ``body`` is its JSON, None where there is none."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: Any


@dataclass(frozen=True)
class Reply:
    """A whole reply."""

    status: int
    body: bytes
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Stream:
    """A reply of status 200 whose body comes piece by piece. Where they raise ``ConnectionError``
    the line breaks."""

    pieces: AsyncGenerator[bytes, None]
    headers: Mapping[str, str]


class Profile(Protocol):
    """What one engine answers."""

    async def reply(self, call: Call) -> Reply | Stream: ...


@dataclass
class Notes:
    """A running server: its address, what it was asked, how many answers were hung up on."""

    url: str = ""
    calls: list[Call] = field(default_factory=list)
    hung_up: int = 0


async def whole(*pieces: bytes) -> AsyncGenerator[bytes, None]:
    """Pieces of a stream that are all there."""
    for piece in pieces:
        yield piece


def of(value: Any, status: int = 200, headers: Mapping[str, str] | None = None) -> Reply:
    """A reply in JSON."""
    body = json.dumps(value, ensure_ascii=False).encode()
    return Reply(status, body, {"Content-Type": "application/json", **(headers or {})})


@asynccontextmanager
async def serving(profile: Profile) -> AsyncIterator[Notes]:
    """``profile`` at an address of its own until the block ends."""
    notes = Notes()

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while (call := await _call(reader)) is not None:
            notes.calls.append(call)
            reply = await profile.reply(call)
            if isinstance(reply, Reply):
                writer.write(_head(reply.status, reply.headers, len(reply.body)) + reply.body)
                await writer.drain()
            elif not await _streamed(reply, reader, writer):
                notes.hung_up += 1
                return

    async with talking(talk) as server:
        notes.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        yield notes


async def _call(reader: asyncio.StreamReader) -> Call | None:
    try:
        head = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
    except asyncio.IncompleteReadError:
        return None
    headers = {
        name.lower(): value.strip()
        for name, _, value in (row.partition(":") for row in head[1:] if row)
    }
    body = await reader.readexactly(int(headers.get("content-length", "0")))
    method, path, version = head[0].split(" ")
    if version != "HTTP/1.1":  # somebody tries whether it speaks another
        return None
    return Call(method, path, headers, json.loads(body) if body else None)


async def _streamed(
    stream: Stream, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
) -> bool:
    """Send the pieces; whether the peer was there to the end."""
    writer.write(_head(200, stream.headers, None))
    async with aclosing(stream.pieces) as pieces:
        while True:
            step = asyncio.ensure_future(anext(pieces, None))
            while not step.done():
                await asyncio.wait({step}, timeout=_LOOK_S)
                if reader.at_eof() or writer.is_closing():
                    step.cancel()
                    await asyncio.gather(step, return_exceptions=True)
                    return False
            if (piece := step.result()) is None:
                break
            writer.write(b"%x\r\n%s\r\n" % (len(piece), piece))
            await writer.drain()
    writer.write(b"0\r\n\r\n")
    await writer.drain()
    return True


def _head(status: int, headers: Mapping[str, str], length: int | None) -> bytes:
    framing = "Transfer-Encoding: chunked" if length is None else f"Content-Length: {length}"
    rows = [f"HTTP/1.1 {status} -", framing, *(f"{k}: {v}" for k, v in headers.items()), "", ""]
    return "\r\n".join(rows).encode()
