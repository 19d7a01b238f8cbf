"""The bench's client against a server that speaks bytes: chunks, cut lines, errors, silence."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.bench.client import Answer, Endpoint, Exchange, send
from tests.talks import talking

HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
LINES = (
    b'data: {"choices":[{"delta":{"role":"assistant","content":""}}]}\n\n',
    b": waiting\n\n",
    'data: {"choices": [{"delta": {"content": "ağaç"}, "finish_reason": null}]}\n\n'.encode(),
    b'data: {"choices":[{"delta":{"reasoning_content":"so"}}]}\r\n\r\n',
    b'data: {"choices":[{"delta":{},"finish_reason":"length"}]}\n\n',
    b'data: {"choices":[],"usage":{"completion_tokens":3,'
    b'"prompt_tokens_details":{"cached_tokens":9}}}\n\n',
    b"data: [DONE]\n\n",
)


def chunked(pieces: Sequence[bytes]) -> bytes:
    """The pieces, a chunk each, and the last one."""
    return b"".join(b"%x\r\n%s\r\n" % (len(p), p) for p in pieces if p) + b"0\r\n\r\n"


@asynccontextmanager
async def serving(folder: Path, *writes: bytes) -> AsyncIterator[Endpoint]:
    """A server that reads a request, writes this and hangs up."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        length = int(head.lower().split(b"content-length:")[1].split(b"\r\n")[0])
        await reader.readexactly(length)
        for data in writes:
            writer.write(data)
            await writer.drain()

    path = folder / "server.sock"
    async with talking(answer, path):
        yield Endpoint.parse(f"unix://{path}")


async def ask(folder: Path, *writes: bytes, keep: bool = False) -> Answer:
    """What the client makes of it."""
    async with serving(folder, *writes) as endpoint:
        body = {"max_tokens": 64, "messages": []}
        call = await send(endpoint, "/v1/chat/completions", body, keep=keep)
        await call.begun()
        return await call.whole()


async def test_an_answer_is_read_to_its_end(tmp_path: Path) -> None:
    answer = await ask(tmp_path, HEAD + chunked(LINES), keep=True)
    assert answer.ok and answer.finish == "length"
    assert (len(answer.frames), answer.tokens, answer.cached) == (2, 3, 9)
    assert answer.text == "ağaç"
    assert answer.sent < answer.frames[0] <= answer.end


@given(st.data())
def test_it_does_not_matter_how_the_bytes_are_cut(data: st.DataObject) -> None:
    body = b"".join(LINES)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(body)), max_size=6)))
    pieces = [body[a:b] for a, b in zip([0, *cuts], [*cuts, len(body)], strict=True)]
    stream = HEAD + chunked(pieces)
    at = data.draw(st.integers(1, len(stream) - 1))

    async def read() -> Answer:
        answer = Answer(0.0)
        exchange = Exchange(b"", answer, keep=False, enough=1)
        exchange.data_received(stream[:at])
        exchange.data_received(stream[at:])
        assert exchange.done.done()
        return answer

    answer = asyncio.run(read())
    assert (len(answer.frames), answer.tokens, answer.finish) == (2, 3, "length")


async def test_an_error_in_the_stream_is_a_failure(tmp_path: Path) -> None:
    fault = b'data: {"error":{"message":"Context size has been exceeded."}}\n\n'
    answer = await ask(tmp_path, HEAD + chunked([LINES[2], fault]))
    assert not answer.ok and "exceeded" in (answer.error or "")


async def test_a_refusal_is_told_with_its_status(tmp_path: Path) -> None:
    body = json.dumps({"error": {"message": "Too many."}}).encode()
    head = b"HTTP/1.1 429 Too Many Requests\r\nContent-Length: %d\r\n\r\n" % len(body)
    answer = await ask(tmp_path, head, body)
    assert answer.status == 429 and "Too many." in (answer.error or "")


async def test_a_server_that_hangs_up_is_a_failure(tmp_path: Path) -> None:
    answer = await ask(tmp_path, HEAD + chunked(LINES[:3])[:-5])
    assert len(answer.frames) == 1
    assert not answer.ok and "connection ended" in (answer.error or "")


async def test_nobody_there_is_a_failure(tmp_path: Path) -> None:
    call = await send(Endpoint(path=str(tmp_path / "nobody")), "/health")
    assert "no connection" in ((await call.whole()).error or "")


async def test_leaving_cuts_the_connection(tmp_path: Path) -> None:
    gone = asyncio.Event()

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(HEAD + b"%x\r\n%s\r\n" % (len(LINES[2]), LINES[2]))
        with suppress(ConnectionError):
            await reader.read()  # returns when the client has gone
        gone.set()

    path = tmp_path / "server.sock"
    async with talking(answer, path):
        call = await send(Endpoint(path=str(path)), "/v1/chat/completions", {})
        await call.begun()
        call.leave()
        await gone.wait()
        assert not (await call.whole()).ok


@pytest.mark.parametrize(
    ("url", "endpoint"),
    [
        ("http://127.0.0.1:8000", Endpoint(port=8000)),
        ("http://engine:80/v1/", Endpoint(host="engine")),
        ("http://engine/base/v1", Endpoint(host="engine", prefix="/base")),
        ("unix:///tmp/engine.sock", Endpoint(path="/tmp/engine.sock")),
    ],
)
def test_urls_are_understood(url: str, endpoint: Endpoint) -> None:
    assert Endpoint.parse(url) == endpoint


@pytest.mark.parametrize("url", ["https://engine", "engine:8000", "unix://", "http://"])
def test_other_urls_are_refused(url: str) -> None:
    with pytest.raises(ValueError, match="neither"):
        Endpoint.parse(url)
