"""The runner owns every answer that is being written: claims, streams, stores, tells.

All writing to the database goes through one loop, a statement a tick for all answers. Knows no
page and no socket. A database that is away delays the tick; nothing written meanwhile is lost.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final
from uuid import UUID, uuid4

import psycopg
from channels.db import database_sync_to_async
from django.conf import settings
from django.db import Error as DatabaseError
from django.db import connection
from django.utils import timezone

from chat import events
from chat.domain import catalogue, generations, prompts
from chat.domain.generations import End, Growth
from chat.engines import Engines
from chat.models import Generation, LanguageModel
from engine_adapter.errors import Broken, ContextTooLong, EngineError, Overloaded, Unreachable
from engine_adapter.types import Failed, Finished, Text

log = logging.getLogger(__name__)

TICK_S: Final = 0.05
HEARTBEAT_S: Final = 2.0
CLAIM_S: Final = 1.0
CATALOGUE_S: Final = 15.0
CATALOGUE_SILENT_S: Final = 1.0
PATIENCE_S: Final = 5.0
QUEUE_PATIENCE_S: Final = 120.0
MOST_BREAKS: Final = 5  # an engine that breaks again and again is not mended by going on
_AWAY_S: Final = 0.5


@dataclass(eq=False)
class Writing:
    """One answer in this runner's hands."""

    generation: Generation
    seq: int = 0
    pending: list[str] = field(default_factory=list)
    has_text: bool = False
    first_text_at: datetime | None = None
    end: End | None = None
    stopping: bool = False
    task: asyncio.Task[None] | None = None

    @property
    def id(self) -> UUID:
        """The generation's id."""
        return self.generation.pk

    @property
    def language_model(self) -> LanguageModel:
        """The model that writes. Raises ``ValueError`` for a message that is no answer."""
        model = self.generation.message.language_model
        if model is None:
            raise ValueError("an answer to be written has a model")
        return model

    @property
    def whereabouts(self) -> tuple[str, str]:
        """The conversation's and the answer's id, as news name them."""
        message = self.generation.message
        return str(message.conversation_id), str(message.pk)


class Runner:
    """Runs until cancelled; then gives its answers back for another runner to go on with."""

    def __init__(self) -> None:
        self.id = uuid4()
        self._engines = Engines()
        self._writing: dict[UUID, Writing] = {}
        self._claimable = asyncio.Event()
        self._due = asyncio.Event()
        self._urgent = asyncio.Event()

    async def run(self) -> None:
        """Serve until the task is cancelled."""
        try:
            async with asyncio.TaskGroup() as group:
                for loop in (
                    self._listen,
                    self._claim,
                    self._tick,
                    self._heartbeat,
                    self._look_at_engines,
                ):
                    group.create_task(self._for_ever(loop))
        finally:
            await self._give_back()

    async def _for_ever(self, loop: Callable[[], Awaitable[None]]) -> None:
        """Begin again after a database that was away comes back."""
        while True:
            try:
                await loop()
            except (DatabaseError, psycopg.Error, OSError) as error:
                log.warning("%s waits for the database: %s", loop.__name__, type(error).__name__)
                await asyncio.sleep(_AWAY_S)

    async def _give_back(self) -> None:
        for writing in self._writing.values():
            if writing.task:
                writing.task.cancel()
        tasks = [writing.task for writing in self._writing.values() if writing.task]
        await asyncio.gather(*tasks, return_exceptions=True)
        with contextlib.suppress(DatabaseError):
            await self._flush()
            await database_sync_to_async(generations.release)(self.id)
        await self._engines.aclose()

    # Hearing of work

    async def _listen(self) -> None:
        """NOTIFY wakes us; losing one costs a second, since the other loops look by themselves."""
        parameters = connection.get_connection_params()
        for name in ("pool", "cursor_factory", "context", "prepare_threshold"):
            parameters.pop(name, None)
        async with await psycopg.AsyncConnection.connect(**parameters, autocommit=True) as line:
            await line.execute(f"LISTEN {generations.CHANNEL}")
            self._claimable.set()
            async for notice in line.notifies():
                if notice.payload == "stop":
                    await self._renew()
                else:
                    self._claimable.set()

    async def _claim(self) -> None:
        while True:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._claimable.wait(), CLAIM_S)
            self._claimable.clear()
            room = settings.RUNNER_ANSWERS - len(self._writing)
            if room <= 0:
                continue
            for generation in await database_sync_to_async(generations.claim)(self.id, limit=room):
                log.info("generation %s claimed, attempt %d", generation.pk, generation.attempt)
                self._begin(generation)

    def _begin(self, generation: Generation) -> None:
        known = self._writing.get(generation.pk)
        if known and generation.attempt == known.generation.attempt + 1:
            # Our own lease ran out while the database was away, and nobody else came: go on.
            known.generation.attempt = generation.attempt
            return
        if known:
            self._let_go(known)
        writing = Writing(generation)
        self._writing[writing.id] = writing
        writing.task = asyncio.create_task(self._write(writing))

    async def _heartbeat(self) -> None:
        while True:
            await asyncio.sleep(HEARTBEAT_S)
            if self._writing:
                await self._renew()

    async def _renew(self) -> None:
        """Renew our leases, see who wants to stop, and let go of what is no longer ours."""
        before = list(self._writing.values())
        ids = [writing.id for writing in before]
        owned = await database_sync_to_async(generations.renew)(self.id, ids)
        for writing in before:
            if writing.id not in owned:
                self._let_go(writing)
            elif owned[writing.id] and not writing.stopping and writing.task:
                writing.stopping = True
                writing.task.cancel()

    def _let_go(self, writing: Writing) -> None:
        if self._writing.get(writing.id) is not writing:
            return
        del self._writing[writing.id]
        if writing.task:
            log.info("generation %s is no longer ours", writing.id)
            writing.task.cancel()

    async def _look_at_engines(self) -> None:
        """Keep the catalogue as the engines tell it. One that is silent keeps what was known."""
        silent: set[UUID] = set()
        while True:
            for row in await database_sync_to_async(catalogue.connections)():
                try:
                    cards = await self._engines.of(row).models()
                except EngineError as error:
                    if row.pk not in silent:
                        log.warning("engine %s tells no models: %s", row.pk, error.code)
                    silent.add(row.pk)
                    continue
                silent.discard(row.pk)
                await database_sync_to_async(catalogue.refresh)(row, cards)
            await asyncio.sleep(CATALOGUE_SILENT_S if silent else CATALOGUE_S)

    # One answer

    async def _write(self, writing: Writing) -> None:
        """Stream the answer; every way out leaves an ``End`` for the tick to record."""
        try:
            writing.end = await self._stream_patiently(writing)
        except asyncio.CancelledError:
            if not writing.stopping:
                raise
            writing.end = End(Generation.State.STOPPED)
        except Exception:
            log.exception("generation %s failed here", writing.id)
            writing.end = self._failure(writing, "internal")
        self._due.set()
        self._urgent.set()

    async def _stream_patiently(self, writing: Writing) -> End:
        """Ask again where waiting helps: an engine that is full, or one that is restarting."""
        began = time.monotonic()
        lost_at: float | None = None
        breaks = 0
        while True:
            written = writing.seq, len(writing.pending)
            outcome = await self._stream(writing)
            if isinstance(outcome, End):
                return outcome
            now = time.monotonic()
            if isinstance(outcome, Overloaded) and now - began < QUEUE_PATIENCE_S:
                await asyncio.sleep(min(outcome.retry_after or 1.0, 5.0))
                continue
            moved = (writing.seq, len(writing.pending)) != written
            lost_at = now if lost_at is None or moved else lost_at
            breaks += moved
            away = isinstance(outcome, Unreachable | Broken) and breaks <= MOST_BREAKS
            continues = writing.language_model.continues or not writing.has_text
            if not (away and continues and now - lost_at < PATIENCE_S):
                return self._failure(writing, outcome.code, outcome)
            log.info("generation %s asks again: %s", writing.id, outcome.code)
            await asyncio.sleep(_AWAY_S)

    async def _stream(self, writing: Writing) -> End | EngineError:
        """One request to the engine, from what is written so far."""
        prompt = await self._prompt(writing)
        writing.seq = max(writing.seq, prompt.seq)
        writing.has_text = prompt.has_text
        engine = self._engines.of(writing.language_model.engine)
        async with contextlib.aclosing(engine.stream(prompt.request)) as stream:
            async for event in stream:
                if isinstance(event, Text):
                    self._grow(writing, event.text)
                elif isinstance(event, Finished) and not writing.has_text:
                    return self._failure(writing, "empty")
                elif isinstance(event, Finished):
                    reason = "length" if event.reason == "length" else ""
                    return End(
                        Generation.State.DONE,
                        reason=reason,
                        usage=event.usage,
                        first_text_at=writing.first_text_at,
                    )
                elif isinstance(event, Failed):
                    return event.error
        return Broken("the stream ended without an end")

    async def _prompt(self, writing: Writing) -> prompts.Prompt:
        """The prompt, built from stored text; waits for the tick and for the database."""
        while True:
            if not writing.pending:
                with contextlib.suppress(DatabaseError):
                    build = database_sync_to_async(prompts.build)
                    prompt: prompts.Prompt = await build(writing.generation)
                    return prompt
                await asyncio.sleep(_AWAY_S)
            self._urgent.set()
            self._due.set()
            await asyncio.sleep(TICK_S / 5)

    def _grow(self, writing: Writing, text: str) -> None:
        text = text.replace("\0", "")  # PostgreSQL's text cannot hold it
        # Blanks before the first word are nothing to read: an answer of only those is empty.
        if not text or not (writing.has_text or text.strip()):
            return
        writing.pending.append(text)
        if not writing.has_text:
            writing.has_text = True
            writing.first_text_at = timezone.now()
            self._urgent.set()
        self._due.set()

    def _failure(self, writing: Writing, code: str, error: EngineError | None = None) -> End:
        state = Generation.State.INTERRUPTED if writing.has_text else Generation.State.FAILED
        facts = {}
        if isinstance(error, ContextTooLong):
            numbers = {
                "prompt_tokens": error.prompt_tokens,
                "context_length": error.context_length,
            }
            facts = {name: value for name, value in numbers.items() if value is not None}
        log.warning("generation %s %s: %s", writing.id, state, code)
        return End(state, reason=code, facts=facts, first_text_at=writing.first_text_at)

    # Write, then tell

    async def _tick(self) -> None:
        """The first words go at once, everything later once a tick."""
        while True:
            await self._due.wait()
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._urgent.wait(), TICK_S)
            self._due.clear()
            self._urgent.clear()
            try:
                await self._flush()
            except DatabaseError:
                self._due.set()
                raise

    async def _flush(self) -> None:
        grown = [writing for writing in self._writing.values() if writing.pending]
        news: list[events.News] = []
        if grown:
            news += await self._store(grown)
        for writing in [w for w in self._writing.values() if w.end and not w.pending]:
            news.append(await self._finish(writing))
        if news:
            await events.tell(*news)

    async def _store(self, grown: list[Writing]) -> list[events.News]:
        sizes = [len(writing.pending) for writing in grown]
        growths = [Growth(w.id, w.generation.attempt, w.seq + 1, "".join(w.pending)) for w in grown]
        took = await database_sync_to_async(generations.append)(self.id, growths)
        news: list[events.News] = []
        for writing, growth, size in zip(grown, growths, sizes, strict=True):
            if writing.id not in took:
                if growth.attempt == writing.generation.attempt:
                    self._let_go(writing)
                else:  # ours again since this tick began: the next one takes it
                    self._due.set()
                continue
            del writing.pending[:size]
            writing.seq = growth.seq
            where = writing.whereabouts
            news.append(events.Grew(*where, str(writing.id), growth.seq, growth.text))
        return news

    async def _finish(self, writing: Writing) -> events.News:
        if writing.end is None:
            raise ValueError("only an ended answer can be finished")
        await database_sync_to_async(generations.finish)(
            writing.id, runner=self.id, attempt=writing.generation.attempt, end=writing.end
        )
        self._writing.pop(writing.id, None)
        log.info("generation %s %s", writing.id, writing.end.state)
        return events.Changed(*writing.whereabouts)
