"""The engine host's HTTP without a model: what is served of an engine, and what is not."""

from __future__ import annotations

import asyncio
import base64
import json
import struct
from collections.abc import AsyncIterator, Sequence
from typing import Any

import httpx
import pytest

from engine_adapter.bundled import chat
from engine_adapter.bundled.server import create_app
from engine_adapter.engine import Engine
from engine_adapter.errors import Overloaded
from engine_adapter.script import Rule, Script
from engine_adapter.scripted import ScriptedEngine
from engine_adapter.types import Embeddings, ModelCard

SCRIPT = Script(
    default=Rule(("Hello", " there", ".")),
    rules=(
        Rule(("never",), when="wait", first_delay_s=3600),
        Rule(("a", "b"), when="break", fail_after=1),
        Rule(("half \ud800",), when="half"),
        Rule(("x",), when="full", fail_after=0, failure="overloaded"),
    ),
    slots=4,
)


class VectorEngine(ScriptedEngine):
    """An engine that makes vectors too, of a text's length, and counts."""

    async def models(self) -> Sequence[ModelCard]:
        return [*await super().models(), ModelCard("vectors", kind="embeddings", parent="base")]

    async def embed(self, model: str, texts: Sequence[str]) -> Embeddings:
        if "full" in texts:
            raise Overloaded("All is full.", retry_after=2.5)
        return Embeddings(tuple((float(len(text)), 0.5) for text in texts), 7)

    def metrics(self) -> bytes:
        return b"konak:started 1\n"


def client_of(engine: Engine) -> httpx.AsyncClient:
    transport = httpx.ASGITransport(create_app(engine))
    return httpx.AsyncClient(transport=transport, base_url="http://engine")


@pytest.fixture
async def http() -> AsyncIterator[httpx.AsyncClient]:
    async with client_of(VectorEngine(SCRIPT)) as client:
        yield client


def asking(text: str = "hi", **more: Any) -> dict[str, Any]:
    return {"model": "scripted", "messages": [{"role": "user", "content": text}], **more}


async def ask(http: httpx.AsyncClient, text: str = "hi", **more: Any) -> httpx.Response:
    return await http.post("/v1/chat/completions", json=asking(text, **more))


async def test_several_answers_whole_and_streamed(http: httpx.AsyncClient) -> None:
    reply = (await ask(http, n=6, seed=3)).json()
    assert [choice["index"] for choice in reply["choices"]] == list(range(6))
    assert {choice["message"]["content"] for choice in reply["choices"]} == {"Hello there."}
    assert reply["usage"]["prompt_tokens"] == 1
    assert reply["usage"]["completion_tokens"] == 18
    streamed = await ask(http, n=6, stream=True, stream_options={"include_usage": True})
    texts = [""] * 6
    *frames, done = [line[6:] for line in streamed.text.split("\n\n") if line]
    assert done == "[DONE]"
    for frame in map(json.loads, frames):
        for choice in frame["choices"]:
            texts[choice["index"]] += choice["delta"].get("content", "")
    assert texts == ["Hello there."] * 6
    assert json.loads(frames[-1])["usage"] == reply["usage"]


@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize("choices", [1, 3])
async def test_who_leaves_ends_every_answer(stream: bool, choices: int) -> None:
    engine = ScriptedEngine(SCRIPT)
    async with client_of(engine) as http:
        task = asyncio.create_task(ask(http, "wait", stream=stream, n=choices))
        await running(engine, choices)
        task.cancel()
        await asyncio.wait({task})
        await running(engine, 0)
    assert engine.cancelled == choices


async def running(engine: ScriptedEngine, count: int) -> None:
    """Return when so many answers are being written."""
    while engine.running != count:  # noqa: ASYNC110 -- the engine has no event for it
        await asyncio.sleep(0.01)


@pytest.mark.parametrize("stream", [True, False])
async def test_one_of_several_that_fails_ends_them_all(stream: bool) -> None:
    engine = ScriptedEngine(SCRIPT)
    async with client_of(engine) as http:
        reply = await ask(http, "full", n=3, stream=stream)
        assert (reply.status_code, reply.json()["error"]["code"]) == (429, "overloaded")
        assert reply.headers["retry-after"] == "1"
        broken = await ask(http, "break", n=3, stream=stream)
    if stream:
        assert broken.status_code == 200
        assert "[DONE]" not in broken.text
        assert json.loads(broken.text.strip().split("\n\n")[-1][6:])["error"]["code"] == "broken"
    else:
        assert broken.status_code == 500
    assert engine.running == 0


@pytest.mark.parametrize("stream", [True, False])
async def test_half_a_character_is_told_as_a_replacement(
    http: httpx.AsyncClient, stream: bool
) -> None:
    reply = await ask(http, "half", stream=stream)
    assert reply.status_code == 200
    assert "half \ufffd" in reply.text


async def test_a_quiet_line_is_kept_alive(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only a clock is replaced: so often a quarter of a minute passes."""
    monkeypatch.setattr(chat, "KEEP_ALIVE_S", 0.02)
    slow = Script(default=Rule(("late",), first_delay_s=0.2, fail_after=1))
    async with client_of(ScriptedEngine(slow)) as http:
        reply = await ask(http, stream=True)
    assert reply.text.startswith(": waiting\n\n: waiting\n\n")
    # What fails after that is a frame: the status is out.
    assert "late" in reply.text
    assert json.loads(reply.text.strip().split("\n\n")[-1][6:])["error"]["code"] == "broken"


async def test_vectors_are_numbers_or_base64(http: httpx.AsyncClient) -> None:
    body = {"model": "vectors", "input": ["a", "bcd"]}
    reply = (await http.post("/v1/embeddings", json=body)).json()
    assert [entry["embedding"] for entry in reply["data"]] == [[1.0, 0.5], [3.0, 0.5]]
    assert [entry["index"] for entry in reply["data"]] == [0, 1]
    assert reply["usage"] == {"prompt_tokens": 7, "total_tokens": 7}
    packed = await http.post("/v1/embeddings", json=body | {"encoding_format": "base64"})
    raw = base64.b64decode(packed.json()["data"][1]["embedding"])
    assert struct.unpack("<2f", raw) == (3.0, 0.5)


@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        ({"model": "vectors", "input": []}, 400, "bad_request"),
        ({"model": "none", "input": "a"}, 404, "model_not_found"),
        ({"model": "scripted", "input": "a"}, 400, "refused"),
        ({"model": "vectors", "input": "full"}, 429, "overloaded"),
        ({"model": "vectors", "input": "x" * (9 << 20)}, 413, "body_too_large"),
    ],
)
async def test_vectors_that_cannot_be_made(
    http: httpx.AsyncClient, body: dict[str, Any], status: int, code: str
) -> None:
    reply = await http.post("/v1/embeddings", json=body)
    assert (reply.status_code, reply.json()["error"]["code"]) == (status, code)
    if status == 429:
        assert reply.headers["retry-after"] == "3"


async def test_a_model_of_vectors_writes_no_answers(http: httpx.AsyncClient) -> None:
    reply = await ask(http, model="vectors")
    assert (reply.status_code, reply.json()["error"]["param"]) == (400, "model")
    text, vectors = (await http.get("/v1/models")).json()["data"]
    assert (text["root"], text["parent"], text["meta"]["kind"]) == ("scripted", None, "text")
    assert text["capabilities"] == ["completion", "continue_final_message"]
    assert (vectors["parent"], vectors["capabilities"]) == ("base", ["embedding"])


async def test_counts_are_served_where_the_engine_counts(http: httpx.AsyncClient) -> None:
    reply = await http.get("/metrics")
    assert reply.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8"
    assert reply.content == b"konak:started 1\n"


async def test_what_an_engine_does_not_offer_says_so() -> None:
    async with client_of(ScriptedEngine(SCRIPT)) as http:
        metrics = await http.get("/metrics")
        assert (metrics.status_code, metrics.json()["error"]["code"]) == (404, "not_found")
        vectors = await http.post("/v1/embeddings", json={"model": "scripted", "input": "a"})
        assert (vectors.status_code, vectors.json()["error"]["code"]) == (501, "not_implemented")
