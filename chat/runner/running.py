"""The runner's loops: hear of work, claim it, keep the leases, watch, and give back at the end."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import Awaitable, Callable
from datetime import timedelta
from uuid import uuid4

import psycopg
from django.conf import settings
from django.db import Error as DatabaseError
from django.db import connection
from django.utils import timezone

from chat.domain import generations
from chat.engines import Engines
from chat.models import Generation
from chat.runner import catalogue, pace
from chat.runner.asking import Asking
from chat.runner.desk import Desk
from chat.runner.line import Line
from chat.runner.pen import Pen
from chat.runner.writing import Hands, Writing

log = logging.getLogger(__name__)

# An engine that heeds the deadline ends by itself, with its own last word.
DEADLINE_GRACE = timedelta(seconds=5)


class Runner:
    """Runs until cancelled; then gives its answers back for another runner to go on with."""

    def __init__(self) -> None:
        self.id = uuid4()
        self._hands = Hands()
        self._claimed_at = 0.0
        self._desk, self._shelf = Desk("desk"), Desk("shelf")
        self._pen = Pen(self.id, self._hands, self._desk)
        self._engines = Engines(self._pen.breath)
        self._line = Line(self._hands, self._desk)
        self._asking = Asking(self._engines, self._shelf, self._pen, self._line)

    async def run(self) -> None:
        """Serve until the task is cancelled."""
        loops = (
            self._listen,
            self._claim,
            self._pen.breathe,
            self._pen.write,
            self._heartbeat,
            self._watch,
            self._tell_the_line,
            self._look_at_engines,
        )
        try:
            async with asyncio.TaskGroup() as group:
                for loop in loops:
                    group.create_task(self._for_ever(loop))
        finally:
            await self._give_back()

    async def _for_ever(self, loop: Callable[[], Awaitable[None]]) -> None:
        """Again and again; a database that was away comes back."""
        while True:
            try:
                await loop()
            except (DatabaseError, psycopg.Error, OSError) as error:
                log.warning("%s waits for the database: %s", loop.__name__, type(error).__name__)
                await asyncio.sleep(pace.AWAY_S)

    async def _give_back(self) -> None:
        tasks = [writing.task for writing in self._hands.values() if writing.task]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        with contextlib.suppress(DatabaseError):
            await self._pen.flush()
            await self._desk.do(generations.release, self.id)
        await self._engines.aclose()
        await self._desk.aclose()
        await self._shelf.aclose()

    # Hearing of work

    async def _listen(self) -> None:
        """NOTIFY wakes us; losing one costs a second, since the other loops look by themselves."""
        parameters = connection.get_connection_params()
        for name in ("pool", "cursor_factory", "context", "prepare_threshold"):
            parameters.pop(name, None)
        async with await psycopg.AsyncConnection.connect(**parameters, autocommit=True) as line:
            await line.execute(f"LISTEN {generations.CHANNEL}")
            self._hands.claimable.set()
            async for notice in line.notifies():
                if notice.payload == "stop":
                    await self._renew()
                else:
                    self._hands.claimable.set()

    async def _claim(self) -> None:
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._hands.claimable.wait(), pace.CLAIM_S)
        # Who asks alone is heard at once; of fifty who ask at once several are claimed together.
        await asyncio.sleep(self._claimed_at + pace.LEAST_CLAIM_S - time.monotonic())
        self._claimed_at = time.monotonic()
        self._hands.claimable.clear()
        room = self._room()
        if room > 0:
            for generation in await self._desk.do(generations.claim, self.id, limit=room):
                log.info("generation %s claimed, attempt %d", generation.pk, generation.attempt)
                self._begin(generation)

    def _room(self) -> int:
        return int(settings.RUNNER_ANSWERS) - len(self._hands)

    def _begin(self, generation: Generation) -> None:
        known = self._hands.get(generation.pk)
        if known and generation.attempt == known.generation.attempt + 1:
            # Our own lease ran out while the database was away, and nobody else came: go on.
            known.generation.attempt = generation.attempt
            return
        if known:
            self._hands.let_go(known)
        writing = self._hands[generation.pk] = Writing(generation)
        writing.task = asyncio.create_task(self._asking.write(writing))

    # Keeping it

    async def _heartbeat(self) -> None:
        await asyncio.sleep(pace.HEARTBEAT_S)
        if self._hands:
            await self._renew()

    async def _renew(self) -> None:
        """Renew our leases, see who wants to stop, and let go of what is no longer ours."""
        before = list(self._hands.values())
        ids = [writing.id for writing in before]
        owned = await self._desk.do(generations.renew, self.id, ids)
        for writing in before:
            if writing.id not in owned:
                self._hands.let_go(writing)
            elif owned[writing.id]:
                writing.stop()

    async def _watch(self) -> None:
        """Cut off engines that fell silent, and answers that take too long."""
        await asyncio.sleep(pace.WATCH_S)
        now, longest = time.monotonic(), timedelta(seconds=settings.ANSWER_MAX_SECONDS)
        asked = [w for w in self._hands.values() if w.heard_at is not None]
        for writing in asked:
            if now - self._heard_at(writing) > _patience_s(writing):
                writing.cut("silent")
        for writing in list(self._hands.values()):
            if timezone.now() - writing.generation.created_at > longest + DEADLINE_GRACE:
                writing.cut("waited")

    def _heard_at(self, writing: Writing) -> float:
        """When its engine last gave a sign of life. Whoever stands in line is told nothing while
        others are written."""
        engine = writing.asks_at.engine_id
        others = self._hands.values() if writing.ahead else ()
        heard = [w.heard_at for w in others if w.asks_at.engine_id == engine]
        return max(at for at in [writing.heard_at, *heard] if at is not None)

    async def _tell_the_line(self) -> None:
        await self._line.tell(full=self._room() <= 0)
        await asyncio.sleep(pace.LEAST_LINE_S)

    async def _look_at_engines(self) -> None:
        await catalogue.look_at_engines(self._engines, self._shelf)


def _patience_s(writing: Writing) -> float:
    first, later = settings.ENGINE_FIRST_TOKEN_S, settings.ENGINE_NEXT_TOKEN_S
    return float(later if writing.begun else first)
