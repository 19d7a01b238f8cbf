"""SGLang's own router, the real one: to us it is one endpoint like any other.

Behind it is llama.cpp's own server with a real model, or an imitation of SGLang that notes what
comes through.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from engine_adapter.errors import Broken, ContextTooLong, EngineError, Overloaded
from engine_adapter.remote.detection import look
from engine_adapter.remote.http_engine import HttpEngine
from engine_adapter.remote.kinds import keeps_people_apart, open_engine
from engine_adapter.scripted import ScriptedEngine
from engine_adapter.types import Event, Failed, Finished, Request, Sampling, Text, Turn
from tests.appliance import free_port
from tests.conformance.imitations import PROFILES
from tests.conformance.server import Notes, serving
from tests.integration.engine_hosts import ROOT, running_llama_server
from tests.integration.engine_subjects import SCRIPT


@contextlib.contextmanager
def routing(folder: Path, worker: str) -> Iterator[str]:
    """The address of a router before ``worker``; its log is in ``folder``. It may still be looking
    for the worker."""
    port, metrics_port = free_port(), free_port()
    command = [sys.executable, "-m", "tests.cluster_router", str(port), str(metrics_port), worker]
    with (folder / "router.log").open("wb") as output:
        process = subprocess.Popen(command, cwd=ROOT, stdout=output, stderr=output)
    try:
        yield f"http://127.0.0.1:{port}"
    finally:
        process.kill()
        process.wait()


@contextlib.asynccontextmanager
async def opened(kind: str, address: str) -> AsyncIterator[HttpEngine]:
    """The engine at ``address`` once it lists a model."""
    engine = open_engine(kind, address)  # type: ignore[arg-type]  # one of the kinds
    async with asyncio.timeout(60):
        while True:
            with contextlib.suppress(EngineError):
                if await engine.models():
                    break
            await asyncio.sleep(0.02)
    yield engine
    await engine.aclose()


async def question(engine: HttpEngine, words: str, max_tokens: int) -> Request:
    (card,) = await engine.models()
    turns = (Turn("user", words),)
    sampling = Sampling(temperature=0.0, max_tokens=max_tokens)
    return Request(
        model=card.name, turns=turns, sampling=sampling, cache_salt="a domain", priority=1
    )


async def told(engine: HttpEngine, request: Request) -> list[Event]:
    return [event async for event in engine.stream(request)]


@pytest.fixture
async def behind(tmp_path: Path) -> AsyncIterator[tuple[Notes, HttpEngine, str]]:
    """What an imitated SGLang noted, and the router before it with its address."""
    script = tmp_path / "script.json"
    script.write_text(json.dumps(SCRIPT))
    async with serving(PROFILES["sglang"](ScriptedEngine.from_file(script))) as notes:
        with routing(tmp_path, notes.url) as address:
            async with opened("openai", address) as engine:
                yield notes, engine, address


async def test_a_real_model_answers_through_it(starter_model: Path, tmp_path: Path) -> None:
    with running_llama_server(tmp_path, starter_model, 1, 512) as server:
        async with opened("llamacpp", server):
            pass
        with routing(tmp_path, server) as address:
            async with opened("openai", address) as engine:
                await engine.health()
                *pieces, end = await told(engine, await question(engine, "Say hello.", 8))
    assert len(pieces) > 2
    assert all(isinstance(piece, Text) for piece in pieces)
    assert isinstance(end, Finished)
    assert end.reason == "length"
    assert end.usage is not None
    assert end.usage.completion_tokens == 8


async def test_it_is_taken_for_what_keeps_nobody_apart(
    behind: tuple[Notes, HttpEngine, str],
) -> None:
    notes, _, address = behind
    found = await look(address)
    assert (found.kind, found.error) == ("openai", None)
    assert not keeps_people_apart("openai")
    # That is so: even asked as SGLang itself it leaves out the domain of the cache, and the place
    # in the line.
    async with opened("sglang", address) as as_sglang:
        await told(as_sglang, await question(as_sglang, "hello", 8))
    (sent,) = [call.body for call in notes.calls if call.method == "POST"]
    assert sent["messages"] == [{"role": "user", "content": "hello"}]
    assert {"cache_salt", "priority"}.isdisjoint(sent)


async def test_closing_our_side_cancels_behind_it(behind: tuple[Notes, HttpEngine, str]) -> None:
    notes, engine, _ = behind
    answer = engine.stream(await question(engine, "count", 500))
    assert isinstance(await anext(answer), Text)
    assert notes.hung_up == 0
    await answer.aclose()
    while not notes.hung_up:  # noqa: ASYNC110 - it is another server that counts
        await asyncio.sleep(0.02)


async def test_a_prompt_that_is_too_long_is_told_as_that(
    behind: tuple[Notes, HttpEngine, str],
) -> None:
    _, engine, _ = behind
    (end,) = await told(engine, await question(engine, "word " * 600, 8))
    assert isinstance(end, Failed)
    assert isinstance(end.error, ContextTooLong)


async def test_an_engine_that_is_gone_is_told_in_a_sentence(tmp_path: Path) -> None:
    script = tmp_path / "script.json"
    script.write_text(json.dumps(SCRIPT))
    with contextlib.ExitStack() as stack:
        async with serving(PROFILES["sglang"](ScriptedEngine.from_file(script))) as notes:
            address = stack.enter_context(routing(tmp_path, notes.url))
            async with opened("openai", address) as engine:
                asked = await question(engine, "hello", 8)
        async with opened("openai", address) as engine:
            (end,) = await told(engine, asked)
    assert isinstance(end, Failed)
    assert isinstance(end.error, Broken | Overloaded)  # as long as it has not noticed, or then
    assert str(end.error).endswith(".")
