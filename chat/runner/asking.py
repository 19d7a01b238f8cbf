"""One answer from its prompt to its end: asks the engine, again where that helps, and listens."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time

from django.db import Error as DatabaseError

from chat import events
from chat.domain import prompts, rights, serving
from chat.domain.generations import End
from chat.engines import Engines
from chat.models import Generation, LanguageModel
from chat.runner import pace
from chat.runner.desk import Desk
from chat.runner.line import Line
from chat.runner.pen import Pen
from chat.runner.writing import Writing
from engine_adapter.errors import Broken, ContextTooLong, EngineError, Overloaded, Unreachable
from engine_adapter.types import Failed, Finished, Progress, Reasoning, Text

log = logging.getLogger(__name__)

MOST_BREAKS = 5  # an engine that breaks again and again is not mended by going on
MOST_ATTEMPTS = 20  # nor a runner that has died as often of this answer


class Asking:
    """Asks the engines for all answers of a runner."""

    def __init__(self, engines: Engines, shelf: Desk, pen: Pen, line: Line) -> None:
        self._engines = engines
        self._shelf = shelf
        self._pen = pen
        self._line = line

    async def write(self, writing: Writing) -> None:
        """Stream the answer; every way out leaves an ``End`` for the pen to record."""
        try:
            writing.end = await self._answer(writing)
        except asyncio.CancelledError:
            if writing.stopping:
                writing.end = writing.ended(Generation.State.STOPPED)
            elif writing.cut_off:
                writing.end = _cut(writing)
            else:
                raise
        except Exception:
            log.exception("generation %s failed here", writing.id)
            writing.end = writing.failed("internal")
        finally:
            writing.heard_at = None
            self._line.end(writing)
        self._pen.hurry()

    async def _answer(self, writing: Writing) -> End:
        """Ask again where waiting helps: an engine that is full, or one that is restarting."""
        if writing.generation.stop_requested:
            return writing.ended(Generation.State.STOPPED)
        began = time.monotonic()
        lost_at: float | None = None
        breaks = 0
        while True:
            written = writing.seq, writing.unstored
            outcome = await self._stream(writing)
            if isinstance(outcome, End):
                return outcome
            now = time.monotonic()
            if isinstance(outcome, Overloaded) and now - began < pace.QUEUE_PATIENCE_S:
                await asyncio.sleep(min(outcome.retry_after or 1.0, 5.0))
                continue
            moved = (writing.seq, writing.unstored) != written
            is_new = lost_at is None or moved
            lost_at = now if lost_at is None or moved else lost_at
            breaks += moved
            away = isinstance(outcome, Unreachable | Broken) and breaks <= MOST_BREAKS
            continues = writing.continues or not writing.has_text
            if not (away and continues and now - lost_at < pace.PATIENCE_S):
                return writing.failed(outcome.code, _facts(outcome))
            log.info("generation %s asks again: %s", writing.id, outcome.code)
            if is_new:
                await events.tell(events.Paused(*writing.whereabouts, str(writing.id)))
            await asyncio.sleep(pace.AWAY_S)

    async def _stream(self, writing: Writing) -> End | EngineError:
        """One request to the engine, from what is written so far."""
        try:
            prompt, writing.members = await self._prompt(writing)
        except rights.NotAllowed as refusal:
            return writing.failed(refusal.reason)
        writing.seq = max(writing.seq, prompt.seq)
        writing.has_text, writing.has_thought = prompt.has_text, prompt.has_thought
        writing.thinks_since = None
        worn_out = writing.generation.attempt > MOST_ATTEMPTS
        if worn_out or (prompt.has_text and not writing.continues):
            return writing.failed("interrupted")
        try:
            engine = self._engines.serving(writing.language_model, writing.members)
        except EngineError as error:
            return error
        writing.begun, writing.heard_at = False, time.monotonic()
        try:
            async with contextlib.aclosing(engine.stream(prompt.request)) as stream:
                async for event in stream:
                    writing.heard_at = time.monotonic()
                    if isinstance(event, Text):
                        self._pen.grow(writing, event.text)
                    if isinstance(event, Reasoning):
                        self._pen.think(writing, event.text)
                    if isinstance(event, Progress):
                        self._stands(writing, event)
                    elif not writing.begun:
                        writing.begun = True
                        self._line.leave(writing, served=True)
                    if isinstance(event, Finished):
                        return _finished(writing, event)
                    if isinstance(event, Failed):
                        return event.error
        finally:
            writing.heard_at = None
        return Broken("the stream ended without an end")

    def _stands(self, writing: Writing, event: Progress) -> None:
        if event.engine is not None:
            self._line.leave(writing, served=False)  # each of several engines has its own line
            writing.asks(event.engine)
        self._line.stand(writing, event.ahead)

    async def _prompt(self, writing: Writing) -> tuple[prompts.Prompt, list[LanguageModel]]:
        """The prompt, built from stored text, and whom it can be given; waits for the tick and for
        the database."""
        while True:
            if not writing.unstored:
                with contextlib.suppress(DatabaseError):
                    is_new = writing.generation.attempt == 1 and not writing.seq
                    return await self._shelf.do(_read, writing, is_new=is_new)
                await asyncio.sleep(pace.AWAY_S)
            self._pen.hurry()
            await asyncio.sleep(pace.LEAST_TICK_S)


def _read(writing: Writing, *, is_new: bool) -> tuple[prompts.Prompt, list[LanguageModel]]:
    prompt = prompts.build(writing.generation, is_new=is_new)
    return prompt, serving.members(writing.language_model)


def _finished(writing: Writing, event: Finished) -> End:
    if not writing.has_text:
        all_thought = writing.has_thought and event.reason == "length"
        return writing.failed("only_thought" if all_thought else "empty")
    reason = "length" if event.reason == "length" else ""
    return writing.ended(Generation.State.DONE, reason, usage=event.usage)


def _cut(writing: Writing) -> End:
    """Its time is up: as with an engine's own deadline a text is as long as it could be."""
    if writing.cut_off == "waited" and writing.has_text:
        return writing.ended(Generation.State.DONE, "length")
    return writing.failed(writing.cut_off)


def _facts(error: EngineError) -> dict[str, int]:
    if not isinstance(error, ContextTooLong):
        return {}
    numbers = {"prompt_tokens": error.prompt_tokens, "context_length": error.context_length}
    return {name: value for name, value in numbers.items() if value is not None}
