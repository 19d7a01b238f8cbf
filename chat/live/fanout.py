"""The readers of one event loop, the answers they follow, and the doorbell.

News may be lost: an answer is read again after a gap or a silence, all together in one query.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections import defaultdict
from collections.abc import Callable
from typing import Any, Final, Protocol

from channels.db import database_sync_to_async
from channels.layers import get_channel_layer
from django.db import Error as DatabaseError

from chat import events
from chat.live import rows
from chat.live.answer import Answer
from chat.markdown import Live

log = logging.getLogger(__name__)

SILENCE_S: Final = 1.3  # half of it may pass unseen: TRUST.md allows two seconds in all
SESSION_CHECK_S: Final = 4.0  # TRUST.md: closed within 5 s
_AWAY_S: Final = 0.5


class Reader(Protocol):
    """A page with a socket, as the hub sees it. None of its methods waits."""

    user_id: str
    session_key: str
    conversation_id: str | None

    def hear(self, item: dict[str, Any]) -> None:
        """News about its conversation or its person."""

    def sign_out(self) -> None:
        """Its session has ended."""

    def look_after(self) -> None:
        """Called every few seconds."""


class Hub:
    """Joins, reads, hears and forgets."""

    def __init__(self) -> None:
        self.answers: dict[str, Answer] = {}
        self.readers: set[Reader] = set()
        self._rooms: defaultdict[str, set[Reader]] = defaultdict(set)
        self._due: dict[str, Answer] = {}
        self._some_due = asyncio.Event()
        self._tasks: list[asyncio.Task[None]] = []

    def start(self) -> None:
        """Begin to listen; safe to call for every reader that comes."""
        if not self._tasks:
            loops = (self._hear, self._read, self._mistrust_silence, self._watch_sessions)
            self._tasks = [asyncio.create_task(loop(), name=loop.__name__) for loop in loops]

    def join(self, reader: Reader) -> None:
        """The reader hears what concerns it from now on."""
        self.readers.add(reader)
        for key in self._keys(reader):
            self._rooms[key].add(reader)

    def leave(self, reader: Reader) -> None:
        """The page is gone."""
        self.readers.discard(reader)
        for key in self._keys(reader):
            self._rooms[key].discard(reader)
            if not self._rooms[key]:
                del self._rooms[key]

    @staticmethod
    def _keys(reader: Reader) -> list[str]:
        return [key for key in (reader.user_id, reader.conversation_id) if key]

    def follow(self, answer_id: str, wake: Callable[[], None], *, run: str = "") -> Answer:
        """Join first, read then: nothing can fall between the two. ``wake`` is called when there is
        something to see, at once or later. An answer that begins with ``run`` is not read yet."""
        answer = self.answers.setdefault(answer_id, Answer(answer_id))
        answer.readers.add(wake)
        if answer.version:
            wake()
        elif run and answer.held is None:
            answer.begin(run)
        elif answer.held is None:
            self._want(answer)
        return answer

    def unfollow(self, answer: Answer, wake: Callable[[], None]) -> None:
        """The reader goes; an answer without readers is forgotten."""
        answer.readers.discard(wake)
        if not answer.readers and self.answers.get(answer.id) is answer:
            del self.answers[answer.id]

    # The doorbell

    async def _hear(self) -> None:
        layer = get_channel_layer()
        while not _is_cancelled():
            try:
                channel = await layer.new_channel()
                await layer.group_add(events.GROUP, channel)
                # The layer's client swallows a cancellation that comes while it connects.
                while not _is_cancelled():
                    for item in (await layer.receive(channel))["news"]:
                        self._take(item)
            except Exception as error:
                # Whatever the layer's client raises: the rows are read on silence meanwhile.
                log.warning("the doorbell is out of order: %s", type(error).__name__)
                await asyncio.sleep(_AWAY_S)

    def _take(self, item: dict[str, Any]) -> None:
        answer = self.answers.get(item.get("answer", ""))
        if answer is not None:
            if answer.held is not None:
                answer.held.append(item)
            elif not _apply(answer, item):
                self._want(answer)
        for reader in tuple(self._rooms.get(item.get("owner") or item["conversation"], ())):
            reader.hear(item)

    # The rows

    def _want(self, answer: Answer) -> None:
        answer.held = answer.held or []
        self._due[answer.id] = answer
        self._some_due.set()

    async def _read(self) -> None:
        """All that is due at once; while it is being read, more may become due."""
        while True:
            await self._some_due.wait()
            self._some_due.clear()
            due, self._due = self._due, {}
            try:
                taken = await database_sync_to_async(rows.take)(due)
            except DatabaseError as error:
                log.warning("%d answers not read: %s", len(due), type(error).__name__)
                self._due = due | self._due
                self._some_due.set()
                await asyncio.sleep(_AWAY_S)
                continue
            for answer in due.values():
                self._put(answer, taken)

    def _put(self, answer: Answer, taken: rows.Taken) -> None:
        """What was read, unless nothing changed; then what was heard meanwhile."""
        reading, text = taken.get(answer.id, (None, None))
        held, answer.held = answer.held or [], None
        answer.heard_at = time.monotonic()
        if answer.is_behind(reading):
            answer.take(reading, text or Live())
        answer.adopt(reading)
        for item in held:
            if answer.held is not None:
                answer.held.append(item)
            elif not _apply(answer, item):
                self._want(answer)

    async def _mistrust_silence(self) -> None:
        """An active answer nobody told us of for a while is read again, and conversations are
        looked through for new ones: the bell may be broken."""
        while True:
            await asyncio.sleep(SILENCE_S)
            if not self.readers:
                continue
            with contextlib.suppress(DatabaseError):
                for conversation, answer_id in await database_sync_to_async(rows.active)():
                    if conversation in self._rooms and answer_id not in self.answers:
                        self._take(_begun(conversation, answer_id))
            # Half the time: what was read a moment after the last look is due at this one.
            silent = time.monotonic() - SILENCE_S / 2
            for answer in list(self.answers.values()):
                due = answer.reading is None or answer.heard_at < silent
                if due and answer.is_active and answer.held is None:
                    self._want(answer)

    async def _watch_sessions(self) -> None:
        """A session that ended without a word closes the socket all the same."""
        while True:
            await asyncio.sleep(SESSION_CHECK_S)
            readers = list(self.readers)
            try:
                keys = {reader.session_key for reader in readers}
                living = await database_sync_to_async(rows.living)(keys) if keys else set()
            except DatabaseError:
                continue
            for reader in readers:
                if reader.session_key in living:
                    reader.look_after()
                else:
                    reader.sign_out()


def _begun(conversation: str, answer: str) -> dict[str, Any]:
    return {"kind": "begun", "conversation": conversation, "answer": answer}


def _apply(answer: Answer, item: dict[str, Any]) -> bool:
    """Whether ``answer`` is up to date with ``item`` now; else the rows have to be read."""
    kind = item["kind"]
    if kind == "grew":
        return answer.grow(item)
    if kind == "thought":
        return answer.think(item)
    if kind == "ended":
        return not answer.is_active or answer.end(item)
    if kind == "waits":
        answer.stand(item["ahead"], item["seconds"])
        return True
    if kind == "paused":
        answer.pause(item)
        return True
    return bool(kind == "begun" or (kind == "asked" and answer.run == item["generation"]))


def _is_cancelled() -> bool:
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0
