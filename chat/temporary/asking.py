"""One answer of a temporary chat: asks the engine, again where waiting helps, and listens."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from typing import Final, Protocol

from django.conf import settings

from chat.domain.generations import End
from chat.models import Generation
from chat.runner import pace
from engine_adapter.engine import Engine
from engine_adapter.errors import Broken, ContextTooLong, EngineError, Overloaded, Unreachable
from engine_adapter.types import Failed, Finished, Progress, Reasoning, Request, Text

log = logging.getLogger(__name__)

State = Generation.State
GRACE_S: Final = 5.0  # an engine that heeds the deadline ends by itself, with its own last word


class Listener(Protocol):
    """Who is told what the engine says."""

    has_text: bool
    has_thought: bool

    def say(self, text: str) -> None:
        """The next words."""

    def think(self, text: str) -> None:
        """The next thoughts."""

    def stand(self, ahead: int) -> None:
        """The place in line."""


async def write(engine: Engine, request: Request, listener: Listener) -> End:
    """How the answer ended. Cancelled, it cancels the request in the engine."""
    try:
        async with asyncio.timeout(settings.ANSWER_MAX_SECONDS + GRACE_S):
            return await _patiently(engine, request, listener)
    except TimeoutError:
        if listener.has_text:
            return End(State.DONE, "length")
        return failed(listener, "waited")


def failed(listener: Listener, reason: str, facts: dict[str, int] | None = None) -> End:
    """It ended out of order: a text stays and is interrupted."""
    log.warning("a temporary answer %s", reason)
    return End(State.INTERRUPTED if listener.has_text else State.FAILED, reason, facts or {})


async def _patiently(engine: Engine, request: Request, listener: Listener) -> End:
    began = time.monotonic()
    lost_at: float | None = None
    while True:
        outcome = await _stream(engine, request, listener)
        if isinstance(outcome, End):
            return outcome
        now = time.monotonic()
        has_begun = listener.has_text or listener.has_thought
        if isinstance(outcome, Overloaded) and not has_begun:
            if now - began < pace.QUEUE_PATIENCE_S:
                await asyncio.sleep(min(outcome.retry_after or 1.0, 5.0))
                continue
        elif isinstance(outcome, Unreachable | Broken) and not has_begun:
            lost_at = now if lost_at is None else lost_at
            if now - lost_at < pace.PATIENCE_S:
                await asyncio.sleep(pace.AWAY_S)
                continue
        return failed(listener, outcome.code, _facts(outcome))


async def _stream(engine: Engine, request: Request, listener: Listener) -> End | EngineError:
    """One request. Who stands in line hears little, and is patient until the whole time is up."""
    patience_s: float | None = settings.ENGINE_FIRST_TOKEN_S
    clock = asyncio.get_running_loop().time
    try:
        async with (
            asyncio.timeout(patience_s) as silence,
            contextlib.aclosing(engine.stream(request)) as stream,
        ):
            async for event in stream:
                if isinstance(event, Progress):
                    listener.stand(event.ahead)
                    patience_s = None if event.ahead else settings.ENGINE_FIRST_TOKEN_S
                elif isinstance(event, Text):
                    listener.say(event.text)
                    patience_s = settings.ENGINE_NEXT_TOKEN_S
                elif isinstance(event, Reasoning):
                    listener.think(event.text)
                    patience_s = settings.ENGINE_NEXT_TOKEN_S
                elif isinstance(event, Finished):
                    return _finished(listener, event)
                elif isinstance(event, Failed):
                    return event.error
                silence.reschedule(None if patience_s is None else clock() + patience_s)
    except TimeoutError:
        if silence.expired():
            return failed(listener, "silent")
        raise
    return Broken("the stream ended without an end")


def _finished(listener: Listener, event: Finished) -> End:
    if not listener.has_text:
        all_thought = listener.has_thought and event.reason == "length"
        return failed(listener, "only_thought" if all_thought else "empty")
    return End(State.DONE, "length" if event.reason == "length" else "", usage=event.usage)


def _facts(error: EngineError) -> dict[str, int]:
    if not isinstance(error, ContextTooLong):
        return {}
    numbers = {"prompt_tokens": error.prompt_tokens, "context_length": error.context_length}
    return {name: value for name, value in numbers.items() if value is not None}
