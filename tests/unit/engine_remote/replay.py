"""A real local HTTP/1.1 server that answers with given bytes, in given pieces, and takes notes.

Plays the part of engines that cannot run here; knows nothing of what it sends.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

from tests.talks import talking

GOLDEN = Path(__file__).parent / "golden"


@dataclass(frozen=True)
class Reply:
    """What one request gets: ``pieces`` are written one by one, then the connection ends.

    ``stay``: wait for the other side to close instead. ``reset``: break the connection off.
    """

    head: bytes
    pieces: Sequence[bytes] = ()
    stay: bool = False
    reset: bool = False


@dataclass
class Replay:
    """A running server: its ``url``, the requests it saw, and how many peers hung up on it."""

    url: str
    requests: list[bytes] = field(default_factory=list)
    hung_up: asyncio.Event = field(default_factory=asyncio.Event)

    def body(self, number: int = -1) -> bytes:
        return self.requests[number].split(b"\r\n\r\n", 1)[1]


def stream(*pieces: bytes, **how: bool) -> Reply:
    """A stream of events that ends when the connection does."""
    head = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n"
    return Reply(head, pieces, **how)


def plain(status: str, body: bytes = b"", *headers: str) -> Reply:
    """An ordinary reply of known length on a connection that stays open."""
    lines = [f"HTTP/1.1 {status}", f"Content-Length: {len(body)}", *headers, "", ""]
    return Reply("\r\n".join(lines).encode(), [body], stay=True)


def golden(engine: str, name: str) -> Reply:
    """A recorded reply: its status line, headers and body as the engine sent them."""
    folder = GOLDEN / engine
    recorded = (folder / f"{name}.hdr").read_bytes().replace(b"\r\n", b"\n").strip().split(b"\n")
    framing = (b"transfer-encoding", b"content-length", b"connection", b"keep-alive")
    lines = [line for line in recorded if not line.lower().startswith(framing)]
    body = (folder / f"{name}.body").read_bytes()
    return Reply(b"\r\n".join([*lines, b"Connection: close", b"", b""]), [body])


@asynccontextmanager
async def serve(
    answer: Reply | Callable[[int], Reply], *, socket: Path | None = None
) -> AsyncIterator[Replay]:
    """Serve ``answer`` (or what it says for the nth request, from 0) until the block ends."""
    notes = Replay("")

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while (request := await _request(reader)) is not None:
                notes.requests.append(request)
                reply = answer if isinstance(answer, Reply) else answer(len(notes.requests) - 1)
                if not await _play(reply, reader, writer):
                    break
        finally:
            notes.hung_up.set()

    async with talking(talk, socket) as server:
        if socket is None:
            notes.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        else:
            notes.url = f"unix://{socket}"
        yield notes


async def _request(reader: asyncio.StreamReader) -> bytes | None:
    try:
        head = await reader.readuntil(b"\r\n\r\n")
    except asyncio.IncompleteReadError:
        return None
    length = 0
    for header in head.lower().split(b"\r\n"):
        if header.startswith(b"content-length:"):
            length = int(header.split(b":")[1])
    return head + await reader.readexactly(length)


async def _play(reply: Reply, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
    """Send the reply; whether the connection goes on after it."""
    for piece in (reply.head, *reply.pieces):
        writer.write(piece)
        await writer.drain()
        await asyncio.sleep(0)
    if reply.reset:
        writer.transport.abort()
    return reply.stay
