"""The egress and the OpenAI engine over real sockets: limits, retries, cancels, addresses."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import aclosing
from pathlib import Path
from typing import Any

import pytest

from engine_adapter.errors import (
    Broken,
    ContextTooLong,
    EngineError,
    Overloaded,
    Refused,
    Unreachable,
)
from engine_adapter.remote import http_engine
from engine_adapter.remote.client import REPLY_LIMIT, Timeouts, open_client
from engine_adapter.remote.openai import HOST_EXTRAS, OpenAIEngine
from engine_adapter.types import (
    Event,
    Failed,
    Finished,
    ModelCard,
    Request,
    Sampling,
    Text,
    Turn,
    Usage,
)
from tests.unit.engine_remote.replay import Replay, Reply, golden, plain, serve, stream

HELLO = b'data: {"choices":[{"index":0,"delta":{"content":"Hello"},"finish_reason":null}]}\n\n'
STOP = b'data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\n'
DONE = b"data: [DONE]\n\n"
SHORT = Timeouts(connect_s=1, first_s=0.3, between_s=0.1, reply_s=0.3)
ASK = Request(model="smol", turns=(Turn("user", "Say a secret"),))


async def answer(
    reply: Reply | Callable[[int], Reply], request: Request = ASK, **how: Any
) -> tuple[list[Event], Replay]:
    async with serve(reply) as server:
        engine = OpenAIEngine(server.url, **how)
        events = [event async for event in engine.stream(request)]
        await engine.aclose()
    return events, server


async def error_of(reply: Reply | Callable[[int], Reply], **how: Any) -> EngineError:
    (end,), _ = await answer(reply, **how)
    assert isinstance(end, Failed)
    assert "secret" not in str(end.error)
    return end.error


@pytest.mark.parametrize("engine", ["llamacpp", "vllm_cpu", "sglang_cpu"])
async def test_recorded_engines_answer_list_and_report(engine: str) -> None:
    events, _ = await answer(golden(engine, "chat_stream_usage"))
    end = events[-1]
    assert isinstance(end, Finished)
    assert isinstance(end.usage, Usage)
    assert end.usage.prompt_tokens == 36
    async with serve(golden(engine, "models")) as server:
        remote = OpenAIEngine(server.url)
        (card,) = await remote.models()
        await remote.aclose()
    assert (card.name, card.context_length, card.continues) == ("smol", 1024, False)
    async with serve(golden(engine, "health")) as server:
        remote = OpenAIEngine(server.url)
        await remote.health()
        await remote.aclose()
    assert isinstance(await error_of(golden(engine, "overflow_stream")), ContextTooLong)


SHA256 = "ab" * 32


async def test_our_own_host_tells_more_about_a_model() -> None:
    model = {
        "id": "m",
        "max_model_len": 2048,
        "meta": {"size": 9, "quantization": "Q4_1", "sha256": SHA256, "state": "loaded"},
        "capabilities": ["continue_final_message"],
    }
    listing = json.dumps({"data": [model, {"id": None}, 7]}).encode()
    async with serve(plain("200 OK", listing)) as server:
        engine = OpenAIEngine(server.url)
        assert await engine.models() == [ModelCard("m", 2048, 9, "Q4_1", SHA256, True, "loaded")]
        await engine.aclose()


FULL = Request(
    model="m",
    turns=(Turn("system", "s"), Turn("user", "ışık \ud800"), Turn("assistant", "Hel")),
    sampling=Sampling(
        temperature=0.5, top_p=0.9, top_k=40, min_p=0.05, seed=7, max_tokens=100, stop=("x", "y")
    ),
    continue_final=True,
    priority=-1,
    cache_salt="ab12",
)


async def test_every_field_is_sent_to_a_host_that_knows_it() -> None:
    _, server = await answer(stream(HELLO, STOP, DONE), FULL, extras=HOST_EXTRAS, api_key="k1")
    assert json.loads(server.body()) == {
        "model": "m",
        "messages": [
            {"role": "system", "content": "s"},
            {"role": "user", "content": "ışık ?"},
            {"role": "assistant", "content": "Hel"},
        ],
        "stream": True,
        "stream_options": {"include_usage": True},
        "temperature": 0.5,
        "top_p": 0.9,
        "top_k": 40,
        "min_p": 0.05,
        "seed": 7,
        "max_tokens": 100,
        "stop": ["x", "y"],
        "continue_final_message": True,
        "add_generation_prompt": False,
        "priority": -1,
        "cache_salt": "ab12",
        "return_progress": True,
    }
    head = server.requests[0].split(b"\r\n\r\n")[0].lower()
    assert head.startswith(b"post /v1/chat/completions http/1.1")
    assert b"authorization: bearer k1" in head
    assert b"accept-encoding: identity" in head


async def test_a_strict_server_gets_no_field_it_may_not_know() -> None:
    _, server = await answer(
        stream(HELLO, STOP, DONE),
        Request(model="m", turns=FULL.turns[:2], priority=3, cache_salt="x"),
    )
    assert set(json.loads(server.body())) == {"model", "messages", "stream", "stream_options"}
    (end,), server = await answer(stream(HELLO, STOP, DONE), FULL)
    assert isinstance(end, Failed)
    assert isinstance(end.error, Refused)
    assert server.requests == []


@pytest.mark.parametrize("path", ["", "/", "/v1", "/v1/"])
async def test_the_address_may_or_may_not_end_in_v1(path: str) -> None:
    async with serve(plain("200 OK", b'{"data": []}')) as server:
        engine = OpenAIEngine(server.url + path)
        assert await engine.models() == []
        await engine.health()
        await engine.aclose()
    lines = [request.split(b"\r\n")[0] for request in server.requests]
    assert lines == [b"GET /v1/models HTTP/1.1", b"GET /health HTTP/1.1"]


async def test_a_unix_socket_is_an_address_too(tmp_path: Path) -> None:
    async with serve(stream(HELLO, STOP, DONE), socket=tmp_path / "engine.sock") as server:
        engine = OpenAIEngine(server.url)
        assert [event async for event in engine.stream(ASK)] == [Text("Hello"), Finished("stop")]
        await engine.aclose()
    engine = OpenAIEngine(f"unix://{tmp_path}/none.sock")
    (end,) = [event async for event in engine.stream(ASK)]
    assert isinstance(end, Failed)
    assert isinstance(end.error, Unreachable)
    with pytest.raises(Unreachable):
        await engine.health()
    await engine.aclose()


@pytest.mark.parametrize(
    "address",
    [
        "",
        "localhost:8000",
        "ftp://host",
        "http://",
        "http://user:word@host",
        "http://host/?q",
        "http://host/#f",
        "http://host:port",
        "http://[::1",
        "unix://relative.sock",
        "unix:///",
        "file:///etc/passwd",
    ],
)
def test_addresses_that_cannot_be_used_are_refused_in_a_sentence(address: str) -> None:
    with pytest.raises(ValueError, match=r"^(The|A) [^\n]+\.$"):
        open_client(address)


def test_a_key_or_certificate_that_cannot_be_used_is_refused(tmp_path: Path) -> None:
    for key in ("a\r\nX-Evil: 1", "ışık"):
        with pytest.raises(ValueError, match="key"):
            open_client("http://host", api_key=key)
    for content in ("nonsense", ""):
        (tmp_path / "ca.pem").write_text(content)
        with pytest.raises(ValueError, match="PEM"):
            open_client("https://host", ca_file=str(tmp_path / "ca.pem"))
    with pytest.raises(ValueError, match="PEM"):
        open_client("https://host", ca_file=str(tmp_path / "none.pem"))


async def test_a_proxy_of_the_environment_is_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    async with serve(stream(HELLO, STOP, DONE)) as proxy:
        for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
            monkeypatch.setenv(name, proxy.url)
        events, server = await answer(stream(HELLO, STOP, DONE))
    assert events[-1] == Finished("stop")
    assert (len(proxy.requests), len(server.requests)) == (0, 1)


async def test_a_redirect_is_an_error_that_says_so_and_is_not_followed() -> None:
    async with serve(stream(HELLO, STOP, DONE)) as target:
        for status in ("301 Moved", "302 Found", "307 Temporary Redirect", "300 Choices"):
            error = await error_of(plain(status, b"", f"Location: {target.url}/secret"))
            assert isinstance(error, Refused)
            assert "redirect" in str(error)
    assert target.requests == []


async def test_cookies_are_not_kept() -> None:
    async with serve(plain("200 OK", b'{"data": []}', "Set-Cookie: a=b")) as server:
        engine = OpenAIEngine(server.url)
        await engine.models()
        await engine.models()
        await engine.aclose()
    assert len(server.requests) == 2
    assert b"cookie" not in server.requests[1].lower()


async def test_a_full_engine_says_when_to_come_back() -> None:
    error = await error_of(plain("429 Too Many Requests", b"", "Retry-After: 7"))
    assert isinstance(error, Overloaded)
    assert error.retry_after == 7


async def test_limits_on_replies() -> None:
    compressed = Reply(stream().head.replace(b"\r\n\r\n", b"\r\nContent-Encoding: br\r\n\r\n"))
    assert isinstance(await error_of(compressed), Broken)
    endless = plain("500 Internal Server Error", b"x" * (REPLY_LIMIT + 1))
    assert "longer than" in str(await error_of(endless))
    line = stream(*[b"data: " + b"x" * 65536] * 17, stay=True)
    assert "longer than" in str(await error_of(line))
    web_page = plain("200 OK", b"<html>secret</html>", "Content-Type: text/html")
    assert isinstance(await error_of(web_page), Broken)


async def test_an_answer_that_does_not_end_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_engine, "ANSWER_LIMIT", 3000)
    for endless in (HELLO, b": ping\n\n"):
        (*texts, end), server = await answer(stream(*[endless] * 400, stay=True))
        assert all(text == Text("Hello") for text in texts)
        assert isinstance(end, Failed)
        assert end.error.cause == "too_much"
        assert server.hung_up.is_set()


async def test_an_engine_that_stalls_is_given_up() -> None:
    assert isinstance(await error_of(Reply(b"", stay=True), timeouts=SHORT), Broken)
    assert isinstance(await error_of(stream(stay=True), timeouts=SHORT), Broken)
    assert isinstance(
        await error_of(Reply(b"HTTP/1.1 500 X\r\n\r\n", stay=True), timeouts=SHORT), Broken
    )
    (text, end), _ = await answer(stream(HELLO, stay=True), timeouts=SHORT)
    assert text == Text("Hello")
    assert isinstance(end, Failed)
    assert "0.1 s" in str(end.error)
    async with serve(Reply(b"HTTP/1.1 200 OK\r\n\r\n", [b"["], stay=True)) as server:
        engine = OpenAIEngine(server.url, timeouts=SHORT)
        with pytest.raises(Broken):
            await engine.models()
        await engine.aclose()


@pytest.mark.parametrize("reset", [True, False])
async def test_a_line_that_breaks_in_the_middle_keeps_the_text(reset: bool) -> None:
    head = (
        b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
    )
    piece = b"%x\r\n%s\r\n" % (len(HELLO), HELLO)
    (text, end), _ = await answer(Reply(head, [piece], reset=reset))
    assert text == Text("Hello")
    assert isinstance(end, Failed)
    assert isinstance(end.error, Broken)


async def test_a_line_that_breaks_after_the_finish_takes_nothing_from_the_answer() -> None:
    head = (
        b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
    )
    piece = b"%x\r\n%s\r\n" % (len(HELLO + STOP), HELLO + STOP)
    events, _ = await answer(Reply(head, [piece]))
    assert events == [Text("Hello"), Finished("stop")]


async def test_a_kept_alive_connection_that_died_is_tried_once_more() -> None:
    gone = Reply(b"", reset=True)
    listing = plain("200 OK", b'{"data": []}')
    async with serve(lambda nth: [listing, gone, stream(HELLO, STOP, DONE)][nth]) as server:
        engine = OpenAIEngine(server.url)
        await engine.models()
        assert [event async for event in engine.stream(ASK)] == [Text("Hello"), Finished("stop")]
        await engine.aclose()
    assert len(server.requests) == 3
    assert server.requests[1] == server.requests[2]


async def test_a_fresh_connection_that_dies_is_not_tried_again() -> None:
    (end,), server = await answer(Reply(b"", reset=True))
    assert isinstance(end, Failed)
    assert isinstance(end.error, Unreachable)
    assert len(server.requests) == 1


async def test_a_finished_answer_leaves_a_connection_to_use_again() -> None:
    head = (
        b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
    )
    body = HELLO + STOP + DONE
    reply = Reply(head, [b"%x\r\n%s\r\n" % (len(body), body), b"0\r\n\r\n"], stay=True)
    async with serve(reply) as server:
        engine = OpenAIEngine(server.url)
        for _ in range(2):
            assert [e async for e in engine.stream(ASK)] == [Text("Hello"), Finished("stop")]
        assert not server.hung_up.is_set()
        await engine.aclose()
        await server.hung_up.wait()


async def test_closing_early_closes_the_reply() -> None:
    async with serve(stream(HELLO, stay=True)) as server:
        engine = OpenAIEngine(server.url)
        async with aclosing(engine.stream(ASK)) as events:
            assert await anext(events) == Text("Hello")
            assert not server.hung_up.is_set()
        await server.hung_up.wait()
        server.hung_up.clear()
        waiting = asyncio.create_task(_read_all(engine))
        while len(server.requests) < 2:  # noqa: ASYNC110 -- the server has no event for a request
            await asyncio.sleep(0.01)
        waiting.cancel()
        await server.hung_up.wait()
        assert (await asyncio.gather(waiting, return_exceptions=True))[0].__class__ is (
            asyncio.CancelledError
        )
        await engine.aclose()


async def test_closing_the_engine_ends_running_streams_with_failed() -> None:
    async with serve(stream(HELLO, stay=True)) as server:
        engine = OpenAIEngine(server.url)
        events = engine.stream(ASK)
        assert await anext(events) == Text("Hello")
        rest = asyncio.create_task(_rest(events))
        await asyncio.sleep(0)
        await engine.aclose()
        (end,) = await rest
        assert isinstance(end, Failed)
        (end,) = [event async for event in engine.stream(ASK)]
        assert isinstance(end, Failed)
        with pytest.raises(EngineError):
            await engine.models()


async def _read_all(engine: OpenAIEngine) -> list[Event]:
    return [event async for event in engine.stream(ASK)]


async def _rest(events: AsyncIterator[Event]) -> list[Event]:
    return [event async for event in events]


@pytest.mark.parametrize("body", [b"", b"[]", b'{"data": 1}', b"<html>", b"[" * 100_000])
async def test_a_model_list_that_is_none_is_an_error(body: bytes) -> None:
    async with serve(plain("200 OK", body)) as server:
        engine = OpenAIEngine(server.url)
        with pytest.raises(Broken):
            await engine.models()
        await engine.aclose()


async def test_health_asks_for_models_where_there_is_no_health() -> None:
    replies = [plain("404 Not Found"), plain("200 OK", b"{}"), plain("503 Busy")]
    async with serve(lambda nth: replies[nth]) as server:
        engine = OpenAIEngine(server.url)
        await engine.health()
        with pytest.raises(Overloaded):
            await engine.health()
        await engine.aclose()
    assert b"/v1/models" in server.requests[1]
