"""Write, then tell: one statement and one ring of the bell a tick, for all answers together."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from dataclasses import replace
from uuid import UUID

from django.db import Error as DatabaseError
from django.utils import timezone

from chat import events
from chat.domain import generations
from chat.domain.generations import Ending, Growth
from chat.runner import pace
from chat.runner.desk import Desk
from chat.runner.writing import Hands, Writing

log = logging.getLogger(__name__)


class Pen:
    """Takes what engines say and stores it. First words go at once, the rest once a tick."""

    def __init__(self, runner: UUID, hands: Hands, desk: Desk) -> None:
        self._runner = runner
        self._hands = hands
        self._desk = desk
        self._due = asyncio.Event()
        self._urgent = asyncio.Event()
        self._breath = asyncio.Event()
        self._ready = asyncio.Event()

    def grow(self, writing: Writing, text: str) -> None:
        """The engine said ``text``."""
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

    def think(self, writing: Writing, thought: str) -> None:
        """The engine thought ``thought``. What it thought in an earlier try stands above it."""
        thought = thought.replace("\0", "")
        if not thought:
            return
        now = time.monotonic()
        if writing.thinks_since is None:
            writing.thinks_since = now
            thought = "\n\n" + thought if writing.has_thought else thought
            self._urgent.set()
        writing.has_thought = True
        writing.thoughts.append(thought)
        writing.reasoned_ms = round(1000 * (now - writing.thinks_since))
        self._due.set()

    async def breath(self) -> None:
        """The moment before a tick, when everybody looks what their engine has said meanwhile: all
        at once costs half of what a look a word does, and no word is stored later for it."""
        self._due.set()
        await self._breath.wait()

    def hurry(self) -> None:
        """Somebody waits for what is pending, or for an end."""
        self._due.set()
        self._urgent.set()

    async def breathe(self) -> None:
        """Set the time until cancelled. It goes on while the database does not."""
        struck_at = 0.0
        while True:
            await self._due.wait()
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._urgent.wait(), pace.TICK_S)
            await asyncio.sleep(struck_at + pace.LEAST_TICK_S - time.monotonic())
            self._due.clear()
            self._urgent.clear()
            struck_at = time.monotonic()
            self._breath.set()
            self._breath.clear()
            await asyncio.sleep(pace.BREATH_S)
            self._ready.set()

    async def write(self) -> None:
        """Store what is ready. Raises ``DatabaseError``; what was to be stored stays ready."""
        await self._ready.wait()
        self._ready.clear()
        try:
            await self.flush()
        except DatabaseError:
            self._ready.set()
            raise

    async def flush(self) -> None:
        """Store all that is pending, then all that has ended; then tell of both."""
        grown = [writing for writing in self._hands.values() if writing.unstored]
        news: list[events.News] = []
        if grown:
            news += await self._store(grown)
        ended = [w for w in self._hands.values() if w.end and not w.unstored]
        if ended:
            news += await self._finish(ended)
        if news:
            await events.tell(*news)

    async def _store(self, grown: list[Writing]) -> list[events.News]:
        sizes = [(len(writing.pending), len(writing.thoughts)) for writing in grown]
        growths = [_growth(writing) for writing in grown]
        took = await self._desk.do(generations.append, self._runner, growths)
        news: list[events.News] = []
        for writing, growth, (texts, thoughts) in zip(grown, growths, sizes, strict=True):
            if writing.id not in took:
                if growth.attempt == writing.generation.attempt:
                    self._hands.let_go(writing)
                else:  # ours again since this tick began: the next one takes it
                    self._due.set()
                continue
            del writing.pending[:texts]
            del writing.thoughts[:thoughts]
            writing.seq = growth.seq
            news.append(_told(writing, growth))
        return news

    async def _finish(self, ended: list[Writing]) -> list[events.News]:
        endings = [Ending(w.id, w.generation.attempt, w.end) for w in ended if w.end]
        took = await self._desk.do(generations.finish, self._runner, endings)
        news: list[events.News] = []
        for writing, ending in zip(ended, endings, strict=True):
            self._hands.close(writing)
            if writing.id in took:
                log.info("generation %s %s", writing.id, ending.end.state)
                end, where = ending.end, writing.whereabouts
                news.append(events.Ended(*where, writing.name, writing.seq, end.state, end.reason))
        return news


def _growth(writing: Writing) -> Growth:
    """What the next tick stores of it."""
    seq, text = writing.seq + 1, "".join(writing.pending)
    growth = Growth(writing.id, writing.generation.attempt, seq, text)
    if not writing.thoughts:
        return growth
    return replace(growth, reasoning="".join(writing.thoughts), reasoned_ms=writing.reasoned_ms)


def _told(writing: Writing, growth: Growth) -> events.News:
    where = *writing.whereabouts, writing.name
    if growth.reasoning:
        return events.Thought(*where, growth.seq, growth.text, growth.reasoning, growth.reasoned_ms)
    return events.Grew(*where, growth.seq, growth.text)
