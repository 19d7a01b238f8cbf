"""A client that takes nothing and does not leave: its answer is ended, and others have the slot."""

from __future__ import annotations

import asyncio
import json
import socket
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from engine_adapter import __main__ as serving
from engine_adapter.bundled import connection
from engine_adapter.script import Rule, Script
from engine_adapter.scripted import ScriptedEngine
from tests.scripts import until

WORDS = ("word " * 1000,) * 400  # far more than a line holds that nobody reads


@pytest.fixture
def engine() -> ScriptedEngine:
    short = Rule(("Hello",), when="short")
    return ScriptedEngine(Script(default=Rule(WORDS), rules=(short,), slots=1))


@pytest.fixture
async def path(engine: ScriptedEngine, tmp_path: Path) -> AsyncIterator[str]:
    """Where the engine is served, as its host serves it."""
    path = str(tmp_path / "engine.sock")
    server = serving.server_of(engine)
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(path)
        task = asyncio.create_task(server._serve(sockets=[listener]))
        await until(lambda: server.started)
        yield path
        server.should_exit = True
        await task


async def ask(path: str, text: str) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    messages = [{"role": "user", "content": text}]
    body = json.dumps({"model": "scripted", "messages": messages, "stream": True})
    reader, writer = await asyncio.open_unix_connection(path)
    writer.write(
        "POST /v1/chat/completions HTTP/1.1\r\nHost: engine\r\nConnection: close\r\n"
        f"Content-Length: {len(body)}\r\n\r\n{body}".encode()
    )
    return reader, writer


async def test_the_answer_of_who_takes_nothing_is_ended(
    engine: ScriptedEngine, path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connection, "STUCK_S", 0.2)
    deaf, writer = await ask(path, "long")
    writer.transport.pause_reading()  # type: ignore[attr-defined]  # a transport that reads too
    await until(lambda: engine.running == 1)
    waiting, other = await ask(path, "short")
    assert b"data: [DONE]" in await waiting.read()  # there is one slot
    assert (engine.cancelled, engine.running) == (1, 0)
    writer.transport.resume_reading()  # type: ignore[attr-defined]  # as above
    assert b"data: [DONE]" not in await deaf.read()
    for one in (writer, other):
        one.close()


async def test_who_reads_in_the_end_misses_nothing(path: str) -> None:
    reader, writer = await ask(path, "long")
    writer.transport.pause_reading()  # type: ignore[attr-defined]  # as above
    await asyncio.sleep(0.3)
    writer.transport.resume_reading()  # type: ignore[attr-defined]  # as above
    whole = await reader.read()
    assert whole.count(WORDS[0].encode()) == len(WORDS)
    assert b"data: [DONE]" in whole
    writer.close()
