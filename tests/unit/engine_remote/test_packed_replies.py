"""Replies that come gzipped although nobody asked for it."""

from __future__ import annotations

import gzip

import pytest

from engine_adapter.errors import Broken
from engine_adapter.remote.client import REPLY_LIMIT
from engine_adapter.remote.openai import OpenAIEngine
from engine_adapter.remote.unpack import PIECE, Unpacker
from engine_adapter.types import Failed, Finished, Text
from tests.unit.engine_remote.imitated import ASK
from tests.unit.engine_remote.replay import GOLDEN, Reply, serve

HEAD = (
    b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Encoding: gzip\r\n"
    b"Connection: close\r\n\r\n"
)
STREAM = (GOLDEN / "vllm_cpu" / "chat_stream_usage.body").read_bytes()
PACKED = gzip.compress(STREAM)


async def test_a_gzipped_stream_is_read_however_it_is_cut() -> None:
    for step in (1, 7, len(PACKED)):
        pieces = [PACKED[at : at + step] for at in range(0, len(PACKED), step)]
        async with serve(Reply(HEAD, pieces)) as server:
            engine = OpenAIEngine(server.url)
            events = [event async for event in engine.stream(ASK)]
            await engine.aclose()
        text = "".join(event.text for event in events if isinstance(event, Text))
        assert text == "Hello, welcome to my world!"
        assert isinstance(events[-1], Finished)


@pytest.mark.parametrize("packed", [b"no gzip at all", PACKED[:40] + b"\xff" * 40, PACKED[:99]])
async def test_a_stream_that_cannot_be_unpacked_is_broken(packed: bytes) -> None:
    async with serve(Reply(HEAD, [packed])) as server:
        engine = OpenAIEngine(server.url)
        end = [event async for event in engine.stream(ASK)][-1]
        await engine.aclose()
    assert isinstance(end, Failed)
    assert isinstance(end.error, Broken)


async def test_a_small_reply_that_unpacks_to_a_gigabyte_is_given_up() -> None:
    bomb = gzip.compress(b"[" * (64 << 20), 9)
    assert len(bomb) < 100_000
    async with serve(Reply(HEAD, [bomb])) as server:
        engine = OpenAIEngine(server.url)
        with pytest.raises(Broken, match=str(REPLY_LIMIT)):
            await engine.models()
        await engine.aclose()


def test_little_is_unpacked_at_once() -> None:
    unpacker = Unpacker()
    whole = unpacker.take(gzip.compress(b"x" * (3 * PIECE + 5)))
    assert len(whole) == PIECE
    while unpacker.full:
        whole += unpacker.take()
    assert whole == b"x" * (3 * PIECE + 5)
    with pytest.raises(Exception, match="incorrect header"):
        Unpacker().take(b"<html>")
