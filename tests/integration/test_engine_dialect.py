"""What can be asked beyond plain text, at a real host with a real model."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.integration.engine_hosts import Host, running_host
from tests.integration.engine_http import MODEL, Json, asking, client_of, streaming


@pytest.fixture(scope="module")
def host(starter_model: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Host]:
    models = tmp_path_factory.mktemp("models")
    (models / f"{MODEL}.gguf").symlink_to(starter_model)
    size = ("--slots", "4", "--context", "512")
    with running_host(tmp_path_factory.mktemp("host"), "--models", models, *size) as host:
        yield host


@pytest.fixture
async def http(host: Host) -> AsyncIterator[httpx.AsyncClient]:
    async with client_of(host) as client:
        yield client


async def ask(http: httpx.AsyncClient, text: str, **more: Any) -> Json:
    reply = await http.post("/v1/chat/completions", json=asking(text, **more))
    assert reply.status_code == 200, reply.text
    told: Json = reply.json()
    return told


async def test_several_answers_are_several_seeds_to_one_prompt(http: httpx.AsyncClient) -> None:
    name = "Invent a name."
    drawn: Json = {"temperature": 1.5, "max_tokens": 12}
    several = await ask(http, name, n=3, seed=5, **drawn)
    texts = [choice["message"]["content"] for choice in several["choices"]]
    alone = [await ask(http, name, seed=seed, **drawn) for seed in (5, 6, 7)]
    assert texts == [one["choices"][0]["message"]["content"] for one in alone]
    assert len(set(texts)) == 3
    assert several["usage"]["prompt_tokens"] == alone[0]["usage"]["prompt_tokens"]
    written = [one["usage"]["completion_tokens"] for one in alone]
    assert several["usage"]["completion_tokens"] == sum(written)


async def test_log_probabilities_spell_the_answer(http: httpx.AsyncClient) -> None:
    async with streaming(
        http, asking("Draw the sea: 🌊", max_tokens=12, logprobs=True, top_logprobs=3)
    ) as stream:
        await stream.rest()
    told = [c["logprobs"] for frame in stream.frames for c in frame["choices"] if "logprobs" in c]
    tokens = [token for one in told for token in one["content"]]
    spelt = b"".join(bytes(token["bytes"]) for token in tokens)
    assert stream.text and spelt.decode().startswith(stream.text)
    for token in tokens:
        assert token["logprob"] <= 0
        best = [other["logprob"] for other in token["top_logprobs"]]
        assert best == sorted(best, reverse=True)
        # Without chance the likeliest token is the one that is drawn.
        assert token["logprob"] == best[0]
        assert len(best) == 3


async def test_an_answer_keeps_to_its_form(http: httpx.AsyncClient) -> None:
    schema = {
        "type": "object",
        "properties": {"sea": {"type": "string", "enum": ["calm", "wild"]}},
        "required": ["sea"],
        "additionalProperties": False,
    }
    form = {"type": "json_schema", "json_schema": {"name": "n", "schema": schema}}
    told = await ask(http, "How is the sea?", response_format=form, max_tokens=60)
    assert json.loads(told["choices"][0]["message"]["content"])["sea"] in ("calm", "wild")
    told = await ask(http, "How is the sea?", grammar='root ::= "wet"', max_tokens=60)
    assert told["choices"][0]["message"]["content"] == "wet"


async def test_tools_that_a_template_does_not_know_are_refused(http: httpx.AsyncClient) -> None:
    tool = {"type": "function", "function": {"name": "look"}}
    for stream in (True, False):
        asked = asking("Look.", tools=[tool], tool_choice="required", stream=stream)
        reply = await http.post("/v1/chat/completions", json=asked)
        assert (reply.status_code, reply.json()["error"]["code"]) == (400, "refused"), reply.text
        assert "tool" in reply.json()["error"]["message"]
    # Tools that must not be called change nothing.
    told = await ask(http, "Hi", tools=[tool], tool_choice="none", max_tokens=2)
    assert told["choices"][0]["finish_reason"] == "length"


async def test_the_host_counts(http: httpx.AsyncClient) -> None:
    await ask(http, "Hi", max_tokens=1)
    counts = await http.get("/metrics")
    assert counts.status_code == 200
    assert f'vllm:num_requests_running{{model_name="{MODEL}"}}' in counts.text
