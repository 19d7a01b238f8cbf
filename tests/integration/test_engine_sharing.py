"""What is read once and used again, at a real host: by whom, by whom not, and how it is counted."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.integration.engine_hosts import Host, running_host
from tests.integration.engine_http import MODEL, Json, asking, client_of, endless

STORY = "The harbour was built by merchants who came from the north. " * 12
OTHER = "A river runs through seven valleys before it meets the sea. " * 12
OPENING = 24  # tokens of the template's own words before anybody's: they are nobody's


@pytest.fixture(scope="module")
def models(starter_model: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("models")
    (folder / f"{MODEL}.gguf").symlink_to(starter_model)
    return folder


@pytest.fixture(scope="module")
def host(models: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Host]:
    size = ("--slots", "2", "--context", "1024")
    with running_host(tmp_path_factory.mktemp("host"), "--models", models, *size) as host:
        yield host


@pytest.fixture
async def http(host: Host) -> AsyncIterator[httpx.AsyncClient]:
    async with client_of(host) as client:
        yield client


async def usage(http: httpx.AsyncClient, body: Json) -> Json:
    reply = await http.post("/v1/chat/completions", json=body)
    assert reply.status_code == 200, reply.text
    told: Json = reply.json()["usage"]
    return told


async def cached(http: httpx.AsyncClient, text: str, **whose: Any) -> int:
    """How many of the prompt's tokens need not be computed."""
    told = await usage(http, asking(text, max_tokens=1, **whose))
    count: int = told["prompt_tokens_details"]["cached_tokens"]
    return count


@pytest.mark.parametrize("field", ["cache_salt", "user"])
async def test_nobody_learns_what_somebody_else_has_asked(
    http: httpx.AsyncClient, field: str
) -> None:
    text = f"{field}: {STORY}"
    assert await cached(http, text, **{field: "alice"}) <= OPENING
    assert await cached(http, text, **{field: "alice"}) > 100
    assert await cached(http, text, **{field: "bob"}) <= OPENING
    assert await cached(http, text) <= OPENING
    assert await cached(http, text, **{field: "bob"}) > 100


async def test_what_is_public_is_read_once_and_nothing_behind_it(http: httpx.AsyncClient) -> None:
    def body(salt: str, rules: str) -> Json:
        asked = asking(OTHER, max_tokens=1, cache_salt=salt, public_turns=1)
        asked["messages"].insert(0, {"role": "system", "content": rules})
        return asked

    rules = "Public: " + STORY
    first = await usage(http, body("one", rules))
    second = await usage(http, body("two", rules))
    shared = second["prompt_tokens_details"]["cached_tokens"]
    assert first["prompt_tokens_details"]["cached_tokens"] <= OPENING
    assert 100 < shared < second["prompt_tokens"] - 100


async def test_the_next_turn_computes_only_what_is_new(http: httpx.AsyncClient) -> None:
    conversation = asking("Turns: " + STORY, max_tokens=12, cache_salt="turns")
    for turn in range(4):
        reply = await http.post("/v1/chat/completions", json=conversation)
        told = reply.json()["usage"]
        if turn:
            new = told["prompt_tokens"] - told["prompt_tokens_details"]["cached_tokens"]
            # The next question, what frames it, and where the answer's tokens were cut otherwise.
            assert new < 40
        conversation["messages"] += [
            {"role": "assistant", "content": reply.json()["choices"][0]["message"]["content"]},
            {"role": "user", "content": f"And then, for the {turn}. time?"},
        ]


@pytest.mark.parametrize("disk", [0, 64])
async def test_states_go_to_disk_only_where_that_is_asked_for(
    models: Path, tmp_path: Path, disk: int
) -> None:
    """One lane and next to no memory: what another one takes the place of is gone, or on disk."""
    size = ("--slots", "1", "--context", "1024", "--cache-mib", "1", "--cache-disk-mib", str(disk))
    with running_host(tmp_path, "--models", models, *size) as host:
        async with client_of(host) as http:
            await cached(http, STORY, cache_salt="alice")
            await cached(http, OTHER, cache_salt="bob")
            again = await cached(http, STORY, cache_salt="alice")
    assert again > 100 if disk else again <= OPENING


async def test_an_answer_ends_as_it_is_when_its_time_is_over(http: httpx.AsyncClient) -> None:
    reply = await http.post("/v1/chat/completions", json=endless(deadline_s=1))
    (choice,) = reply.json()["choices"]
    assert choice["finish_reason"] == "length"
    assert choice["message"]["content"]
    assert reply.json()["usage"]["total_tokens"] < 1024


async def counted(http: httpx.AsyncClient) -> dict[str, float]:
    """The counts without labels."""
    page = (await http.get("/metrics")).text
    lines = re.findall(rf'^([a-z0-9_:]+)\{{model_name="{MODEL}"\}} (\S+)$', page, re.MULTILINE)
    return {name: float(value) for name, value in lines}


async def test_what_is_counted_is_what_was_told(http: httpx.AsyncClient) -> None:
    async def settled() -> dict[str, float]:
        """The worker tells what it has counted once a second."""
        before: dict[str, float] = {}
        while (now := await counted(http)) != before:
            before = now
            await asyncio.sleep(1.5)
        return now

    await usage(http, asking(max_tokens=1))
    before = await settled()
    told = [
        await usage(http, asking("Counted: " + STORY, max_tokens=n, cache_salt="c")) for n in (7, 9)
    ]
    after = await settled()
    grown = {name: after[name] - before[name] for name in after}
    prompts = sum(one["prompt_tokens"] for one in told)
    saved = sum(one["prompt_tokens_details"]["cached_tokens"] for one in told)
    assert saved > 100
    assert grown["vllm:prompt_tokens_total"] == prompts
    assert grown["vllm:generation_tokens_total"] == sum(one["completion_tokens"] for one in told)
    assert grown["vllm:prefix_cache_queries_total"] == prompts
    assert grown["vllm:prefix_cache_hits_total"] == saved
    assert grown["vllm:time_to_first_token_seconds_count"] == len(told)
    assert grown["vllm:inter_token_latency_seconds_count"] == 7 + 9 - len(told)
    assert grown["vllm:e2e_request_latency_seconds_count"] == len(told)
    assert grown["konak:step_seconds_count"] == grown["konak:batch_fill_count"] >= 7 + 9
    assert after["konak:worker_deaths_total"] == 0
    assert after["vllm:num_requests_running"] == 0  # nobody is left
    assert after["vllm:kv_cache_usage_perc"] == 0
