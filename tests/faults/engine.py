"""The engine of the fault harness, a process: plays the script, or passes on a real engine's words.

What it has said is written down before it is said, so that it is known after a kill -9.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from dataclasses import replace
from pathlib import Path

import uvicorn

from engine_adapter.bundled.server import create_app
from engine_adapter.engine import Engine
from engine_adapter.remote.openai import HOST_EXTRAS, OpenAIEngine
from engine_adapter.scripted import ScriptedEngine
from engine_adapter.types import Event, ModelCard, Request, Text
from tests.faults.voices import REHEARSAL, TAG, TOPICS, asked_for, squeezed


class WrittenDown:
    """``engine``, each of whose words leaves a line: time, the question's tag, letters so far.

    A ``real`` one is asked for its likeliest tokens about a topic, so that what it answers can be
    told in advance.
    """

    def __init__(self, engine: Engine, record: Path, *, real: bool) -> None:
        self._engine, self._real = engine, real
        self._record = os.open(record, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)

    async def stream(self, request: Request) -> AsyncGenerator[Event, None]:
        """See ``Engine.stream``."""
        tag = next((t for turn in reversed(request.turns) for t in TAG.findall(turn.content)), "-")
        said = len(squeezed(request.turns[-1].content)) if request.continue_final else 0
        self._note(tag, said)
        if self._real:
            request = _foretold(request)
        async with aclosing(self._engine.stream(request)) as events:
            async for event in events:
                if isinstance(event, Text):
                    said += len(squeezed(event.text))
                    self._note(tag, said)
                yield event

    async def models(self) -> Sequence[ModelCard]:
        """See ``Engine.models``."""
        return await self._engine.models()

    async def health(self) -> None:
        """See ``Engine.health``."""
        await self._engine.health()

    async def aclose(self) -> None:
        """See ``Engine.aclose``."""
        await self._engine.aclose()

    def _note(self, tag: str, said: int) -> None:
        os.write(self._record, f"{time.monotonic():.4f} {tag} {said}\n".encode())


def _foretold(request: Request) -> Request:
    last = next(turn.content for turn in reversed(request.turns) if turn.role == "user")
    longer = 2 if last.startswith(REHEARSAL) else 1
    most = request.sampling.max_tokens and request.sampling.max_tokens * longer
    turns = tuple(
        replace(turn, content=TOPICS.get(asked_for(turn.content), turn.content))
        if turn.role == "user"
        else turn
        for turn in request.turns
    )
    return replace(
        request,
        turns=turns,
        sampling=replace(request.sampling, temperature=0.0, max_tokens=most),
    )


def main(socket: str, record: str, source: str) -> None:
    """Serve on ``socket`` until SIGTERM; ``source`` is a script or a real engine's unix:// URL."""
    real = source.startswith("unix://")
    inner: Engine = (
        OpenAIEngine(source, extras=HOST_EXTRAS) if real else ScriptedEngine.from_file(source)
    )
    Path(socket).unlink(missing_ok=True)
    app = create_app(WrittenDown(inner, Path(record), real=real))
    uvicorn.run(app, uds=socket, lifespan="off", access_log=False, log_level="warning")


if __name__ == "__main__":
    main(*sys.argv[1:])
