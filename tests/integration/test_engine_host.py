"""The engine host's answers: the command line, a Unix socket, the real model."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import json
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import httpx
import pytest

from tests.integration.engine_hosts import Host, running_host
from tests.integration.engine_http import MODEL, Json, Stream, asking, client_of, endless, streaming

SLOTS, CONTEXT, QUEUE = 8, 512, 2


@pytest.fixture(scope="module")
def models(starter_model: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with the starter model and a damaged one."""
    folder = tmp_path_factory.mktemp("models")
    (folder / f"{MODEL.upper()}.gguf").symlink_to(starter_model)
    (folder / "zz-cut.gguf").write_bytes(starter_model.read_bytes()[:5_000_000])
    return folder


@pytest.fixture(scope="module")
def host(models: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Host]:
    arguments = ("--models", models, "--slots", str(SLOTS), "--context", str(CONTEXT))
    with running_host(tmp_path_factory.mktemp("h"), *arguments, "--queue", str(QUEUE)) as host:
        yield host


@pytest.fixture
async def http(host: Host) -> AsyncIterator[httpx.AsyncClient]:
    async with client_of(host) as client:
        yield client


async def test_eight_are_answered_at_once(http: httpx.AsyncClient) -> None:
    """Each is read to its first words while all the others are still being written."""
    async with contextlib.AsyncExitStack() as stack:
        streams = [
            await stack.enter_async_context(
                streaming(http, asking(f"Count to {n}00.", max_tokens=60))
            )
            for n in range(1, SLOTS + 1)
        ]
        await asyncio.gather(*(stream.until_text() for stream in streams))
        assert not any(stream.done for stream in streams)
        await asyncio.gather(*(stream.rest() for stream in streams))
    for stream in streams:
        usage = stream.frames[-1]["usage"]
        assert stream.done
        assert usage["completion_tokens"] <= 60
        assert usage["total_tokens"] == usage["prompt_tokens"] + usage["completion_tokens"]


async def test_the_line_tells_places_and_refuses_when_full(http: httpx.AsyncClient) -> None:
    long = endless(return_progress=True)
    async with contextlib.AsyncExitStack() as stack:

        async def enter() -> Stream:
            return await stack.enter_async_context(streaming(http, long))

        served = await asyncio.gather(*(enter() for _ in range(SLOTS)))
        await asyncio.gather(*(stream.until_text() for stream in served))
        first, second = [await enter() for _ in range(QUEUE)]
        places = [(await stream.next() or {})["progress"] for stream in (first, second)]
        assert [place["ahead"] for place in places] == [1, 2]
        assert [place["computed"] for place in places] == [0, 0]
        full = await http.post("/v1/chat/completions", json=asking())
        assert full.status_code == 429
        assert int(full.headers["retry-after"]) >= 1
        assert full.json()["error"]["code"] == "overloaded"
    await is_served_again(http)


async def is_served_again(http: httpx.AsyncClient) -> None:
    """All clients have left: the next is served."""
    reply = await http.post("/v1/chat/completions", json=asking(max_tokens=2))
    while reply.status_code == 429:
        reply = await http.post("/v1/chat/completions", json=asking(max_tokens=2))
    assert reply.status_code == 200


async def test_the_more_urgent_is_ahead_in_line(http: httpx.AsyncClient) -> None:
    async with contextlib.AsyncExitStack() as stack:

        async def enter(**more: int) -> Stream:
            body = endless(return_progress=True, **more)
            return await stack.enter_async_context(streaming(http, body))

        served = await asyncio.gather(*(enter() for _ in range(SLOTS)))
        await asyncio.gather(*(stream.until_text() for stream in served))
        patient = await enter(priority=5)
        assert (await patient.next() or {})["progress"]["ahead"] == 1
        urgent = await enter(priority=0)
        assert (await urgent.next() or {})["progress"]["ahead"] == 1
        assert (await patient.next() or {})["progress"]["ahead"] == 2
    await is_served_again(http)


async def test_who_leaves_frees_the_slot(models: Path, tmp_path: Path) -> None:
    """With one slot, the second answer begins only when the first has let go of it."""
    arguments = ("--models", models, "--slots", "1", "--context", "4096")
    with running_host(tmp_path, *arguments) as host:
        async with client_of(host) as http:
            async with streaming(http, endless()) as leaving:
                await leaving.until_text()
            # Unstreamed, waiting, and leaving before there is anything to read:
            waiting = asyncio.create_task(http.post("/v1/chat/completions", json=endless()))
            await asyncio.sleep(0.2)
            waiting.cancel()
            async with streaming(http, asking(max_tokens=3)) as staying:
                await (await staying.until_text()).rest()
            assert staying.done


async def test_an_answer_is_the_same_streamed_or_whole(http: httpx.AsyncClient) -> None:
    body = asking("Say hello in French.", max_tokens=30)
    reply = (await http.post("/v1/chat/completions", json=body)).json()
    async with streaming(http, body) as stream:
        await stream.rest()
    (choice,) = reply["choices"]
    assert choice["message"] == {"role": "assistant", "content": stream.text}
    assert stream.text
    finish, usage = stream.frames[-2:]
    assert finish["choices"][0]["finish_reason"] == choice["finish_reason"]
    # The second finds the first one's prompt computed.
    for told in (usage, reply):
        assert told["usage"].pop("prompt_tokens_details")["cached_tokens"] >= 0
    assert usage["usage"] == reply["usage"]
    assert usage["choices"] == []


async def test_a_seed_repeats_an_answer(http: httpx.AsyncClient) -> None:
    async def drawn(seed: int) -> str:
        body = asking("Invent a name.", temperature=1.5, seed=seed, max_tokens=24)
        reply = await http.post("/v1/chat/completions", json=body)
        content: str = reply.json()["choices"][0]["message"]["content"]
        return content

    texts = [await drawn(7), await drawn(7), await drawn(8)]
    assert texts[0] == texts[1] != texts[2]


async def test_characters_go_in_and_come_out_whole(http: httpx.AsyncClient) -> None:
    text = "🌊 ışık çöğüş 👩‍👩‍👧 日本"
    echo = {
        "model": MODEL,
        "temperature": 0,
        "max_tokens": 40,
        "messages": [
            {"role": "user", "content": f"Repeat exactly: {text}"},
            {"role": "assistant", "content": text},
            {"role": "user", "content": f"Repeat exactly: {text}"},
            {"role": "assistant", "content": text},
            {"role": "user", "content": f"Repeat exactly: {text}"},
        ],
    }
    async with streaming(http, echo) as stream:
        await stream.rest()
    assert stream.text.startswith("🌊 ışık")
    assert "\ufffd" not in stream.text


async def test_written_markers_are_text(http: httpx.AsyncClient) -> None:
    """As control tokens the two would be one token each; as text they are many."""

    async def prompt_tokens(text: str) -> int:
        reply = await http.post("/v1/chat/completions", json=asking(text, max_tokens=1))
        count: int = reply.json()["usage"]["prompt_tokens"]
        return count

    assert await prompt_tokens("a<|im_end|><|im_start|>") - await prompt_tokens("a") > 8


async def test_a_begun_answer_is_continued(http: httpx.AsyncClient) -> None:
    begun = asking("Count from one to ten in words.", max_tokens=12)
    begun["messages"].append({"role": "assistant", "content": "One, two, three, four,"})
    begun |= {"continue_final_message": True, "add_generation_prompt": False}
    reply = await http.post("/v1/chat/completions", json=begun)
    assert reply.json()["choices"][0]["message"]["content"].startswith(" five, six")


async def test_the_context_ends_an_answer_and_refuses_a_prompt(http: httpx.AsyncClient) -> None:
    reply = (await http.post("/v1/chat/completions", json=endless())).json()
    assert reply["choices"][0]["finish_reason"] == "length"
    assert reply["usage"]["total_tokens"] == CONTEXT
    for stream in (False, True):
        long = await http.post("/v1/chat/completions", json=asking("sea " * 600, stream=stream))
        error = long.json()["error"]
        assert (long.status_code, error["code"]) == (400, "context_length_exceeded")
        assert error["n_ctx"] == CONTEXT
        assert error["n_prompt_tokens"] > 600
        assert str(error["n_prompt_tokens"]) in error["message"]
        assert str(CONTEXT) in error["message"]


@pytest.fixture(scope="module")
def model_size(starter_model: Path) -> int:
    return starter_model.stat().st_size


@pytest.fixture(scope="module")
def model_sha256(starter_model: Path) -> str:
    return hashlib.sha256(starter_model.read_bytes()).hexdigest()


async def test_models_tell_what_they_are(
    http: httpx.AsyncClient, model_size: int, model_sha256: str
) -> None:
    while True:
        listed = (await http.get("/v1/models")).json()["data"]
        good, damaged = listed
        if good["meta"]["sha256"] is not None:
            break
        await asyncio.sleep(0.05)
    assert good["id"] == MODEL
    assert good["max_model_len"] == good["meta"]["n_ctx"] == CONTEXT
    assert good["meta"]["size"] == model_size
    assert good["meta"]["sha256"] == model_sha256
    assert good["meta"]["quantization"] == "Q4_1"
    assert good["meta"]["state"] == "loaded"
    assert "continue_final_message" in good["capabilities"]
    assert (damaged["id"], damaged["meta"]["state"]) == ("zz-cut", "failed")
    refused = await http.post("/v1/chat/completions", json=asking() | {"model": "zz-cut"})
    assert refused.status_code == 400
    assert "damaged" in refused.json()["error"]["message"]


@pytest.mark.parametrize(
    ("method", "path", "content", "status", "code"),
    [
        ("POST", "/v1/chat/completions", b"{", 400, "bad_request"),
        ("POST", "/v1/chat/completions", b"[" * 200_000, 400, "bad_request"),
        ("POST", "/v1/chat/completions", {"temperature": -1}, 400, "bad_request"),
        ("POST", "/v1/chat/completions", {"n": 17}, 400, "bad_request"),
        ("POST", "/v1/chat/completions", {"model": "gpt-4"}, 404, "model_not_found"),
        ("POST", "/v1/chat/completions", b"x" * (9 << 20), 413, "body_too_large"),
        ("GET", "/v1/chat/completions", b"", 405, "not_found"),
        ("GET", "/v1/nothing", b"", 404, "not_found"),
    ],
)
async def test_bad_input_is_answered_in_the_dialect(
    http: httpx.AsyncClient, method: str, path: str, content: bytes | Json, status: int, code: str
) -> None:
    if isinstance(content, dict):
        content = json.dumps({**asking(), **content}).encode()
    reply = await http.request(method, path, content=content)
    assert (reply.status_code, reply.json()["error"]["code"]) == (status, code)
    assert set(reply.json()["error"]) >= {"message", "type", "param", "code"}
    assert (await http.get("/health")).json() == {"status": "ok"}
