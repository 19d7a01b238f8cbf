"""One web process's ear: hears the doorbell once and fans out in memory to its readers.

An answer's text is kept here once for all its readers, taken from the database when a reader
comes, grown by news, and taken from the database again after a gap or a silence.
"""

from __future__ import annotations

import asyncio
import logging
import time
import weakref
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, Final

from channels.db import database_sync_to_async
from channels.layers import get_channel_layer
from django.db import Error as DatabaseError

from chat import events
from chat.domain import answers
from chat.markdown import Live
from chat.models import Message

log = logging.getLogger(__name__)

SILENCE_S: Final = 1.5
_AWAY_S: Final = 0.5


@dataclass(eq=False)
class Answer:
    """An answer being written, as this process knows it. ``version`` grows with every change."""

    id: str
    reading: answers.Reading | None = None
    text: Live = field(default_factory=Live)
    seq: int = 0
    version: int = 0
    heard_at: float = field(default_factory=time.monotonic)
    readers: set[Callable[[], None]] = field(default_factory=set)

    def take(self, reading: answers.Reading | None) -> None:
        """Start over from what the database holds; ``None`` when the answer is gone."""
        self.text = Live()
        self.reading = replace(reading, live=self.text) if reading else None
        self.seq = reading.seq if reading else 0
        if reading and reading.text:
            self.text.feed(reading.text)
        self._changed()

    def grow(self, seq: int, text: str) -> bool:
        """Add the chunk ``seq``; ``False`` when one before it is missing."""
        self.heard_at = time.monotonic()
        if seq <= self.seq:
            return True
        if seq != self.seq + 1:
            return False
        self.seq = seq
        self.text.feed(text)
        self._changed()
        return True

    def _changed(self) -> None:
        self.heard_at = time.monotonic()
        self.version += 1
        for wake in tuple(self.readers):
            wake()


class Hub:
    """The readers of one event loop and the answers they follow."""

    def __init__(self) -> None:
        self.answers: dict[str, Answer] = {}
        self.listeners: set[Callable[[dict[str, Any]], None]] = set()
        self._tasks: list[asyncio.Task[None]] = []

    def start(self) -> None:
        """Begin to listen; safe to call for every reader that comes."""
        if not self._tasks:
            self._tasks = [
                asyncio.create_task(self._hear(), name="hub-hear"),
                asyncio.create_task(self._mistrust_silence(), name="hub-silence"),
            ]

    async def follow(self, answer_id: str, wake: Callable[[], None]) -> Answer:
        """Join first, read then: nothing can fall between the two."""
        answer = self.answers.setdefault(answer_id, Answer(answer_id))
        answer.readers.add(wake)
        try:
            if answer.version == 0:
                await self._read(answer)
        except asyncio.CancelledError:
            self.leave(answer, wake)
            raise
        return answer

    def leave(self, answer: Answer, wake: Callable[[], None]) -> None:
        """The reader goes; an answer without readers is forgotten."""
        answer.readers.discard(wake)
        if not answer.readers and self.answers.get(answer.id) is answer:
            del self.answers[answer.id]

    async def _read(self, answer: Answer) -> None:
        try:
            answer.take(await database_sync_to_async(_reading)(answer.id))
        except DatabaseError as error:
            log.warning("answer %s not read: %s", answer.id, type(error).__name__)

    async def _hear(self) -> None:
        layer = get_channel_layer()
        while not _is_cancelled():
            try:
                channel = await layer.new_channel()
                await layer.group_add(events.GROUP, channel)
                # The layer's client swallows a cancellation that comes while it connects.
                while not _is_cancelled():
                    message = await layer.receive(channel)
                    for item in message["news"]:
                        await self._take(item)
            except Exception as error:
                # Whatever the layer's client raises: the rows are read on silence meanwhile.
                log.warning("the doorbell is out of order: %s", type(error).__name__)
                await asyncio.sleep(_AWAY_S)

    async def _take(self, item: dict[str, Any]) -> None:
        answer = self.answers.get(item.get("answer", ""))
        if answer is not None:
            grew = item["kind"] == "grew" and self._belongs(answer, item["generation"])
            if not (grew and answer.grow(item["seq"], item["text"])):
                await self._read(answer)
        for listener in tuple(self.listeners):
            listener(item)

    @staticmethod
    def _belongs(answer: Answer, generation: str) -> bool:
        reading = answer.reading
        return bool(reading and reading.generation and str(reading.generation.pk) == generation)

    async def _mistrust_silence(self) -> None:
        """An active answer nobody told us of for a while is read again: the bell may be broken."""
        while True:
            await asyncio.sleep(SILENCE_S / 3)
            now = time.monotonic()
            for answer in list(self.answers.values()):
                active = answer.reading is None or answer.reading.is_active
                if active and now - answer.heard_at > SILENCE_S:
                    answer.heard_at = now
                    await self._catch_up(answer)

    async def _catch_up(self, answer: Answer) -> None:
        """Read again only what changed, so that an unchanged answer costs its readers nothing."""
        try:
            reading = await database_sync_to_async(_reading)(answer.id)
        except DatabaseError:
            return
        if _stand(reading) != _stand(answer.reading, seq=answer.seq):
            answer.take(reading)


def _is_cancelled() -> bool:
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


def _stand(reading: answers.Reading | None, *, seq: int | None = None) -> tuple[object, ...]:
    """What tells two readings of an answer apart: its run, how that stands, how far it is."""
    if reading is None or reading.generation is None:
        return ()
    upto = reading.seq if seq is None else seq
    return reading.generation.pk, reading.generation.state, upto


def _reading(answer_id: str) -> answers.Reading | None:
    message = (
        Message.objects.select_related("language_model", "conversation__language_model")
        .filter(pk=answer_id)
        .first()
    )
    return answers.one(message) if message else None


_hubs: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, Hub] = weakref.WeakKeyDictionary()


def hub() -> Hub:
    """The hub of the running event loop."""
    loop = asyncio.get_running_loop()
    if loop not in _hubs:
        _hubs[loop] = Hub()
    _hubs[loop].start()
    return _hubs[loop]
