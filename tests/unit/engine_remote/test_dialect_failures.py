"""How each kind of engine fails and is full, and that it is told apart and nothing is lost."""

from __future__ import annotations

import pytest

from engine_adapter.errors import Broken, Overloaded
from engine_adapter.remote.kinds import ADAPTERS, Kind
from engine_adapter.script import Rule
from engine_adapter.types import Failed, Finished, Text
from tests.unit.engine_remote.imitated import ASK, pair
from tests.unit.engine_remote.replay import GOLDEN, Reply, serve

FAILS = Rule(pieces=("Hello", " there", " you"), fail_after=2)
FULL = Rule(pieces=("Hello",), fail_after=0, failure="overloaded")


@pytest.mark.parametrize("kind", ADAPTERS)
async def test_a_failure_in_the_middle_keeps_the_text(kind: Kind) -> None:
    async with pair(kind, FAILS) as it:
        *texts, end = await it.ask()
        assert texts == [Text("Hello"), Text(" there")]
        assert isinstance(end, Failed)
        assert type(end.error) is Broken
        assert "words" not in str(end.error)
        # The line is no worse for it.
        assert isinstance((await it.ask())[-1], Failed)
        await it.engine.models()


@pytest.mark.parametrize("kind", ADAPTERS)
async def test_a_full_engine_is_told_from_a_broken_one(kind: Kind) -> None:
    async with pair(kind, FULL) as it:
        (end,) = await it.ask()
        assert isinstance(end, Failed)
        assert type(end.error) is Overloaded
        assert end.error.retry_after == (7 if kind == "openai" else None)


@pytest.mark.parametrize("kind", ADAPTERS)
@pytest.mark.parametrize("share", [0.2, 0.5, 0.9])
async def test_a_stream_that_is_cut_anywhere_is_broken(kind: Kind, share: float) -> None:
    async with pair(kind, Rule(pieces=tuple("abcdefgh"))) as it:
        await it.engine.models()
        await it.ask()
        call = next(c for c in it.notes.calls if c.method == "POST" and "chat" in c.path)
        reply = await it.profile.reply(call)
        whole = b"".join([piece async for piece in reply.pieces])  # type: ignore[union-attr]  # an answer is a stream
        finish = whole.rindex(b'"done": true' if kind == "ollama" else b'"finish_reason": "stop"')
    cut = whole[: int(finish * share)]
    head = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n"
    for reset in (True, False):
        async with serve(Reply(head % (len(cut), cut), reset=reset)) as server:
            engine = ADAPTERS[kind](server.url)
            engine._names = frozenset({"scripted"})
            *texts, end = [event async for event in engine.stream(ASK)]
            await engine.aclose()
        assert isinstance(end, Failed)
        assert isinstance(end.error, Broken)
        assert "abcdefgh".startswith("".join(t.text for t in texts if isinstance(t, Text)))


async def test_an_end_that_was_told_stands_although_the_line_breaks_behind_it() -> None:
    stream = (GOLDEN / "vllm_cpu" / "chat_stream_usage.body").read_bytes()
    told = stream[: stream.index(b"data: [DONE]")]
    head = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n"
    async with serve(Reply(head % (len(told), told), reset=True)) as server:
        engine = ADAPTERS["vllm"](server.url)
        end = [event async for event in engine.stream(ASK)][-1]
        await engine.aclose()
    assert isinstance(end, Finished)
    assert end.usage is not None
