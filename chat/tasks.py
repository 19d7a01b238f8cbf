"""What nobody is watching. Arguments are ids; every task can run twice."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import threading
from dataclasses import asdict

from celery import shared_task
from channels.db import database_sync_to_async

from chat import fetching, measuring
from chat.domain import (
    arrivals,
    branches,
    capacity,
    connections,
    gauges,
    generations,
    reaping,
    rights,
    serving,
    titles,
    versions,
)
from chat.engines import Engines
from chat.engines import gauges as gauges_of
from chat.models import CapacityTest, Conversation, EngineConnection
from engine_adapter.errors import EngineError, Refused
from engine_adapter.types import Failed, Finished, Request, Text

log = logging.getLogger(__name__)

_AT_ONCE = 5
_titling = threading.Lock()


@shared_task
def reap() -> None:
    """End the runs that no runner will, and erase the branches that nobody can bring back."""
    reaping.reap()
    branches.erase()


@shared_task
def title_conversations() -> None:
    """Name a few conversations, as long as nobody waits for an answer."""
    # A slow model must not take one thread of the worker after the other.
    if not _titling.acquire(blocking=False):
        return
    try:
        if not generations.anybody_waits():
            asyncio.run(_title(titles.due(limit=_AT_ONCE)))
    finally:
        _titling.release()


@shared_task
def note_gauges() -> None:
    """How full the engines are, a few times a minute; what is older than a day is forgotten."""
    asyncio.run(_note_gauges())
    gauges.forget()


async def _note_gauges() -> None:
    engines = Engines()
    rows = await database_sync_to_async(connections.every)()
    try:
        await asyncio.gather(*(_note(engines, row) for row in rows))
    finally:
        await engines.aclose()


async def _note(engines: Engines, row: EngineConnection) -> None:
    with contextlib.suppress(EngineError, TimeoutError):
        whole, each = await gauges_of(row, engines)
        await database_sync_to_async(gauges.note)(row, whole, each)


@shared_task
def bring_models() -> None:
    """Fetch and check the models that are on their way in; each by one worker at a time."""
    while (row := arrivals.claim()) is not None:
        fetching.bring(row)


@shared_task
def sweep_arrivals() -> None:
    """Remove what was begun and left."""
    arrivals.sweep()


@shared_task
def measure_capacity(test_id: str) -> None:
    """How many people a model can serve: more and more of them, until one stops it."""
    test = CapacityTest.objects.select_related("language_model__engine").get(pk=test_id)
    if test.ended_at is None and not test.points:
        asyncio.run(_measure(test))


async def _measure(test: CapacityTest) -> None:
    in_database = database_sync_to_async
    engines = Engines()
    measuring_task: asyncio.Task[str] | None = None
    try:
        measuring_task = asyncio.create_task(_points(engines, test))
        while not (await asyncio.wait({measuring_task}, timeout=1.0))[0]:
            if not await in_database(capacity.goes_on)(test):
                measuring_task.cancel()
                break
        with contextlib.suppress(asyncio.CancelledError):
            await in_database(capacity.end)(test, await measuring_task)
            return
        await in_database(capacity.end)(test, "stopped")
    finally:
        await engines.aclose()


async def _points(engines: Engines, test: CapacityTest) -> str:
    """All points, one after the other; why there are no more of them, where that has a reason."""
    model = test.language_model
    members = await database_sync_to_async(serving.members)(model)
    try:
        runs = versions.running(model)
        engine = engines.serving(model, members)
    except rights.Held as refusal:
        return refusal.reason
    except EngineError as error:
        return error.code
    for users in measuring.PEOPLE:
        point = await measuring.measure(
            engine, runs.name, users, salt=str(test.pk), sha256=runs.sha256
        )
        if not point.answers:
            return "unanswered"
        await database_sync_to_async(capacity.add)(test, asdict(point))
    return ""


async def _title(conversations: list[Conversation]) -> None:
    engines = Engines()
    try:
        for conversation in conversations:
            if await database_sync_to_async(generations.anybody_waits)():
                return
            request = await database_sync_to_async(titles.build)(conversation)
            words = await _words(engines, conversation, request) if request else ""
            if words is not None:
                await database_sync_to_async(titles.settle)(conversation, words)
    finally:
        await engines.aclose()


async def _words(engines: Engines, conversation: Conversation, request: Request) -> str | None:
    """What the model says; ``None`` when the engine is away and asking later may help."""
    words = ""
    model = conversation.language_model
    members = await database_sync_to_async(serving.members)(model)
    engine = engines.serving(model, members)
    async with contextlib.aclosing(engine.stream(request)) as stream:
        async for event in stream:
            if isinstance(event, Text):
                words += event.text
            elif isinstance(event, Finished) and event.reason == "length":
                return ""  # what does not end within the limit is a text, not a title
            elif isinstance(event, Failed):
                log.info("no title for %s: %s", conversation.pk, event.error.code)
                return "" if isinstance(event.error, Refused) else None
    return words
