"""What the scripted engine plays in tests, a host that serves it, and a runner that asks it.

The host listens where the settings look for the engine, so that everything between is the real way.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from typing import TypeVar
from urllib.parse import urlsplit

import uvicorn
from channels.db import database_sync_to_async
from channels.layers import channel_layers
from channels_redis.pubsub import RedisPubSubChannelLayer
from django.conf import settings

from chat.runner import Runner
from engine_adapter.bundled.server import create_app
from engine_adapter.script import Rule, Script
from engine_adapter.scripted import ScriptedEngine

Result = TypeVar("Result")
in_database = database_sync_to_async

WORDS = tuple(f"word{n} " for n in range(40))
SLOW = Rule(WORDS, when="slowly", pace=100)
ENDLESS = Rule(tuple(f"{n} " for n in range(100_000)), when="for ever", pace=50)
SCRIPT = Script(default=Rule(("Hello", " there", ".")), rules=(SLOW, ENDLESS))
PATIENCE_S = 30


class _Server(uvicorn.Server):
    """Leaves the signals to pytest."""

    @contextlib.contextmanager
    def capture_signals(self):
        yield


@contextlib.asynccontextmanager
async def engine_host(script: Script = SCRIPT) -> AsyncIterator[ScriptedEngine]:
    """The engine host of the house, playing ``script``."""
    engine = ScriptedEngine(script)
    path = urlsplit(settings.ENGINE_URL).path
    server = _Server(
        uvicorn.Config(
            create_app(engine), uds=path, log_config=None, lifespan="off", access_log=False
        )
    )
    serving = asyncio.create_task(server.serve())
    try:
        await until(lambda: server.started)
        yield engine
    finally:
        await engine.aclose()
        server.should_exit = True
        await serving
        # Who knocked at the very end was let in after the server had said goodbye to its guests.
        await asyncio.sleep(0.01)
        for guest in tuple(server.server_state.connections):
            guest.transport.abort()
        await asyncio.sleep(0)


@contextlib.asynccontextmanager
async def running(runner: Runner | None = None) -> AsyncIterator[Runner]:
    """A runner at work. At the end it gives back what it has, as on SIGTERM."""
    runner = runner or Runner()
    task = asyncio.create_task(runner.run())
    try:
        yield runner
    finally:
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task


@contextlib.contextmanager
def doorbell(url: str) -> Iterator[None]:
    """The news go through the Valkey at ``url``, which may be gone or go."""
    before = channel_layers["default"]
    channel_layers.set("default", RedisPubSubChannelLayer(hosts=[url], prefix="konak"))
    try:
        yield
    finally:
        channel_layers.set("default", before)


async def until(found: Callable[[], Result | Awaitable[Result]]) -> Result:
    """The first true thing that ``found`` returns."""
    async with asyncio.timeout(PATIENCE_S):
        while True:
            result = found()
            if isinstance(result, Awaitable):
                result = await result
            if result:
                return result
            await asyncio.sleep(0.02)
