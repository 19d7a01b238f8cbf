"""One connection against servers that keep to HTTP, and some that do not."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from engine_adapter.remote.wire import BUFFER_LIMIT, HEADERS_LIMIT, Broke, Malformed, Wire
from engine_adapter.remote.wires import IDLE_S, Address, AllInUse, Wires
from tests.talks import Talk, talking

REQUEST = b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"


@asynccontextmanager
async def line(talk: Talk) -> AsyncIterator[Wires]:
    """Connections to a server that answers each as ``talk`` does."""
    async with talking(talk) as server:
        wires = Wires(Address("127.0.0.1", server.sockets[0].getsockname()[1]))
        yield wires
        wires.close()


def says(*pieces: bytes, stay: bool = True) -> Talk:
    """Answers every request with these bytes, one by one."""

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while True:
            await reader.readuntil(b"\r\n\r\n")
            for piece in pieces:
                writer.write(piece)
                await writer.drain()
                await asyncio.sleep(0.01)
            if not stay:
                return

    return talk


async def taken(wires: Wires) -> Wire:
    wire, _ = await wires.take(connect_s=5, wait_s=5)
    return wire


async def whole(wire: Wire) -> bytes:
    body = b""
    while data := await wire.read(5):
        body += data
    return body


HEAD = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n"
FRAMINGS = {
    "length": (HEAD, b"he", b"llo"),
    "chunks": (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", b"2\r\nhe\r\n3\r\nllo\r\n",
               b"0\r\nTrailer: 1\r\n\r\n"),
    "announced": (b"HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n", HEAD, b"hello"),
}  # fmt: skip


@pytest.mark.parametrize("framing", FRAMINGS)
async def test_a_reply_is_read_and_the_line_used_again(framing: str) -> None:
    async with line(says(*FRAMINGS[framing])) as wires:
        wire = await taken(wires)
        for _ in range(3):
            head = await wire.ask(REQUEST, 5)
            assert head.status == 200
            assert not wire.reusable
            assert await whole(wire) == b"hello"
            assert wire.reusable
            wires.give(wire)
            again, used = await wires.take(connect_s=5, wait_s=5)
            assert (again, used) == (wire, True)


async def test_a_body_without_a_length_ends_with_the_line() -> None:
    async with line(says(b"HTTP/1.1 200 OK\r\n\r\n", b"hel", b"lo", stay=False)) as wires:
        wire = await taken(wires)
        await wire.ask(REQUEST, 5)
        assert await whole(wire) == b"hello"
        assert not wire.reusable


@pytest.mark.parametrize("pieces", [(), (b"HTTP/1.1 200",), (HEAD, b"hel")])
async def test_a_line_that_ends_too_early_is_an_error(pieces: tuple[bytes, ...]) -> None:
    async with line(says(*pieces, stay=False)) as wires:
        wire = await taken(wires)
        with pytest.raises(Broke):
            await wire.ask(REQUEST, 5)
            await whole(wire)
        assert not wire.is_open


NONSENSE = {
    "no HTTP": b"220 smtp.example.org ESMTP\r\n",
    "endless headers": b"HTTP/1.1 200 OK\r\n" + b"X: " + b"y" * HEADERS_LIMIT + b"\r\n\r\n",
    "another protocol": b"HTTP/1.1 101 Switching\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\nzzz",
    "two lengths": b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab",
    "both framings": b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n"
    b"0\r\n\r\n",
    "a bad chunk": b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\nhello\r\n",
}


@pytest.mark.parametrize("nonsense", NONSENSE)
async def test_what_is_no_reply_is_refused(nonsense: str) -> None:
    async with line(says(NONSENSE[nonsense])) as wires:
        wire = await taken(wires)
        with pytest.raises(Malformed):
            await wire.ask(REQUEST, 5)
            await whole(wire)
        assert not wire.is_open


async def test_more_than_was_announced_is_not_taken_for_the_next_reply() -> None:
    async with line(says(HEAD + b"hello" + HEAD + b"cuckoo")) as wires:
        wire = await taken(wires)
        await wire.ask(REQUEST, 5)
        assert await whole(wire) == b"hello"
        await asyncio.sleep(0.05)
        wires.give(wire)
        _, used = await wires.take(connect_s=5, wait_s=5)
        assert not used


async def test_patience_ends_when_nothing_comes_and_not_before() -> None:
    head = b"HTTP/1.1 200 OK\r\nContent-Length: 90\r\n\r\n"
    async with line(says(head, *[b"drip"] * 20)) as wires:
        wire = await taken(wires)
        await wire.ask(REQUEST, 60)
        with pytest.raises(TimeoutError):
            while await wire.read(0.3):
                pass


async def test_what_nobody_reads_is_not_taken_in() -> None:
    sent = 0

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal sent
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 100000000\r\n\r\n")
        while True:
            writer.write(b"x" * 65536)
            await writer.drain()
            sent += 65536

    async with line(talk) as wires:
        wire = await taken(wires)
        await wire.ask(REQUEST, 5)
        before = -1
        while sent != before:
            before = sent
            await asyncio.sleep(0.3)
        assert sent < 20_000_000
        first = await wire.read(5, then_pause=True)
        assert BUFFER_LIMIT < len(first) < 4 * BUFFER_LIMIT
        await asyncio.sleep(0.1)
        assert len(await wire.read(5)) < 4 * BUFFER_LIMIT


async def test_idle_lines_are_kept_for_a_while_only() -> None:
    async with line(says(HEAD, b"hello")) as wires:
        wire = await taken(wires)
        await wire.ask(REQUEST, 5)
        await whole(wire)
        wires.give(wire)
        wire.idle_since -= IDLE_S
        other, used = await wires.take(connect_s=5, wait_s=5)
        assert (other is not wire, used) == (True, False)
        assert not wire.is_open


async def test_there_is_a_limit_to_open_lines() -> None:
    async with line(says(HEAD, b"hello")) as wires:
        wires._room = asyncio.Semaphore(1)
        wire = await taken(wires)
        with pytest.raises(AllInUse):
            await wires.take(connect_s=5, wait_s=0.05)
        wires.drop(wire)
        wires.drop(wire)
        assert (await taken(wires)).is_open
        with pytest.raises(AllInUse):
            await wires.take(connect_s=5, wait_s=0.05)
