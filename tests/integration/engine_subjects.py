"""Engines to hold the contract against: hosts as processes, remote kinds with an imitation."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from engine_adapter.engine import Gauged
from engine_adapter.errors import Overloaded, Unreachable
from engine_adapter.remote.http_engine import HttpEngine
from engine_adapter.remote.kinds import open_engine
from engine_adapter.scripted import ScriptedEngine
from tests.conformance.imitations import PROFILES
from tests.conformance.server import serving
from tests.integration.engine_hosts import Host, running_host

AnyEngine = ScriptedEngine | HttpEngine

SLOTS, CONTEXT = 2, 512
SCRIPT = {
    "model": "scripted",
    "context_length": CONTEXT,
    "slots": SLOTS,
    "rules": [
        {"when": "count", "pieces": ["1,", *(f" {n}," for n in range(2, 600))], "pace": 100},
        {"when": "sea", "pieces": ["🌊", "🌊", " ış", "ık ", "🏳️‍🌈"]},
    ],
    "default": {"pieces": ["Hello", " there", "."]},
}


@dataclass(frozen=True)
class Subject:
    """An engine under the contract, and the one an imitation plays from behind its address."""

    kind: str
    engine: AnyEngine
    behind: ScriptedEngine | None = None


@contextmanager
def host_of(
    kind: str, request: pytest.FixtureRequest, factory: pytest.TempPathFactory
) -> Iterator[Host]:
    if kind == "scripted-host":
        arguments: list[str | Path] = ["--scripted", request.getfixturevalue("script")]
    else:
        models = factory.mktemp("models")
        model: Path = request.getfixturevalue("starter_model")
        (models / model.name).hardlink_to(model.resolve())
        arguments = ["--models", models, "--slots", str(SLOTS), "--context", str(CONTEXT)]
    with running_host(factory.mktemp("host"), *arguments) as host:
        yield host


@asynccontextmanager
async def real(address: str) -> AsyncIterator[Subject]:
    """llama.cpp's own server, once it is ready."""
    engine = open_engine("llamacpp", address)
    async with asyncio.timeout(60):
        while True:
            try:
                await engine.health()
                break
            except (Unreachable, Overloaded):  # it loads its model
                await asyncio.sleep(0.05)
    yield Subject("llama-server", engine)
    await engine.aclose()


@asynccontextmanager
async def imitated(kind: Any, script: Path) -> AsyncIterator[Subject]:
    behind = ScriptedEngine.from_file(script)
    async with serving(PROFILES[kind](behind)) as notes:
        engine = open_engine(kind, notes.url)
        yield Subject(kind, engine, behind)
        await engine.aclose()


async def somebody_waits(subject: Subject) -> None:
    """Return when a request stands in line: seen from behind an imitation, or counted by a real
    server that tells nobody a place."""
    while True:
        if subject.behind is not None:
            waiting = subject.behind.waiting
        else:
            assert isinstance(subject.engine, Gauged)
            waiting = (await subject.engine.gauges()).waiting or 0
        if waiting:
            return
        await asyncio.sleep(0.01)
