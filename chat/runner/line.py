"""The line: who waits at which place, for how long about, and telling them as it moves.

There are two lines in a row: the runs that no runner has room for, and those an engine has no
slot for. Whoever is told a place is told the sum.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections import deque
from uuid import UUID

from chat import events
from chat.domain import generations, standing
from chat.runner import pace
from chat.runner.desk import Desk
from chat.runner.writing import Hands, Writing

WINDOW_S = 120.0  # what was longer ago says nothing about now
LEAST_MOVES = 3
MOST_TOLD = 500  # whoever stands further back is told when it is nearer


class Speed:
    """How fast a line moves: the places it gave up lately, while somebody stood in it."""

    def __init__(self) -> None:
        self._since: float | None = None
        self._moves: deque[float] = deque()

    def stands(self, anybody: bool) -> None:
        """Whether somebody waits; a line that is empty forgets how it moved."""
        if not anybody:
            self._since = None
            self._moves.clear()
        elif self._since is None:
            self._since = time.monotonic()

    def move(self, places: int) -> None:
        """The line gave up so many places."""
        if self._since is not None:
            self._moves.extend([time.monotonic()] * places)

    def seconds(self, ahead: int) -> int | None:
        """Seconds until the one at place ``ahead`` has its turn; ``None`` while nobody can say."""
        now = time.monotonic()
        while self._moves and now - self._moves[0] > WINDOW_S:
            self._moves.popleft()
        if self._since is None or len(self._moves) < LEAST_MOVES:
            return None
        watched_s = min(now - self._since, WINDOW_S)
        return max(1, round(ahead * watched_s / len(self._moves)))


class Line:
    """The places of a runner's answers, and of those that wait for a runner."""

    def __init__(self, hands: Hands, desk: Desk) -> None:
        self._hands = hands
        self._desk = desk
        self._speeds: dict[UUID, Speed] = {}
        self._told: dict[tuple[str, str], tuple[int, int | None]] = {}
        self._unkept: dict[str, standing.Stand] = {}
        self._kept_at = 0.0
        self._queued = 0
        self._news = asyncio.Event()

    def stand(self, writing: Writing, ahead: int) -> None:
        """The engine says how many come before this answer, which is its place; 0 is its turn."""
        before, writing.ahead = writing.ahead, ahead
        if before == ahead:
            return
        waiting = max(self._places(writing.asks_at.pk), default=0)
        speed = self._speed(writing)
        if before > ahead and before > waiting:
            # All see the same moves: they are counted once, by the one who stands last.
            speed.move(before - ahead)
        speed.stands(bool(waiting or self._queued))
        self._news.set()

    def leave(self, writing: Writing, *, served: bool) -> None:
        """Its words come, or it ended otherwise: stopped, failed, somebody else's."""
        if not writing.ahead:
            return
        if served:
            self.stand(writing, 0)
        else:
            writing.ahead = 0

    def end(self, writing: Writing) -> None:
        """It is over: where engines take everybody at once, that is how the line moves."""
        self.leave(writing, served=False)
        speed = self._speed(writing)
        if not any(self._places(writing.asks_at.pk)):
            speed.stands(bool(self._queued))
            speed.move(1)

    def _places(self, model: UUID) -> list[int]:
        return [w.ahead for w in self._hands.values() if w.ahead and w.asks_at.pk == model]

    def _speed(self, writing: Writing) -> Speed:
        return self._speeds.setdefault(writing.asks_at.pk, Speed())

    async def tell(self, *, full: bool) -> None:
        """Tell those whose place or time has changed. ``full``: new ones wait for a runner."""
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._news.wait(), pace.LINE_S)
        self._news.clear()
        queued = await self._desk.do(generations.queued, limit=MOST_TOLD) if full else []
        self._queued = len(queued)
        # Of which model, in which line, at which place: each engine of several has its own line.
        standing: dict[tuple[str, str], tuple[UUID | None, UUID | None, int]] = {
            w.whereabouts: (w.language_model.pk, w.asks_at.pk, w.ahead)
            for w in self._hands.values()
            if w.ahead
        }
        for run in queued:
            model = run.message.language_model_id
            ahead = 1 + sum(other == model for other, _, _ in standing.values())
            standing[str(run.message.conversation_id), str(run.message_id)] = model, model, ahead
        told = {where: (ahead, self._seconds(line, ahead))
                for where, (_, line, ahead) in standing.items()}  # fmt: skip
        moved = {where: stand for where, stand in told.items() if self._told.get(where) != stand}
        self._told = told
        if moved:
            await events.tell(*(events.Waits(*where, *stand) for where, stand in moved.items()))
        await self._keep(moved)

    async def _keep(self, moved: dict[tuple[str, str], standing.Stand]) -> None:
        """Store where they stand, for pages that read it: seldom, since they ask seldom."""
        self._unkept.update({answer: stand for (_, answer), stand in moved.items()})
        now = time.monotonic()
        if self._unkept and now - self._kept_at >= pace.PLACES_S:
            self._kept_at, unkept, self._unkept = now, self._unkept, {}
            await self._desk.do(standing.keep, unkept)

    def _seconds(self, model: UUID | None, ahead: int) -> int | None:
        speed = self._speeds.get(model) if model else None
        return speed.seconds(ahead) if speed else None
