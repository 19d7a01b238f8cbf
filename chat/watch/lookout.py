"""Asks every engine how it is, for all open pages of one web process together, and for none when
nobody looks. Knows no page."""

from __future__ import annotations

import asyncio
import logging
import weakref
from collections.abc import Callable
from typing import Final

from channels.db import database_sync_to_async
from django.db import Error as DatabaseError

from chat import engines
from chat.domain import connections
from chat.views.model_now import States

log = logging.getLogger(__name__)

EVERY_S: Final = 2.0
Wake = Callable[[], None]


class Lookout:
    """``seen`` is how the engines were at the last look, by their ids."""

    def __init__(self) -> None:
        self.seen: States = {}
        self._readers: set[Wake] = set()
        self._looking: asyncio.Task[None] | None = None

    def join(self, wake: Wake) -> None:
        """``wake`` is called after each look."""
        self._readers.add(wake)
        if self._looking is None:
            self._looking = asyncio.create_task(self._look_on(), name="lookout")

    def leave(self, wake: Wake) -> None:
        """The page is gone; after the last one no engine is asked."""
        self._readers.discard(wake)
        if not self._readers and self._looking is not None:
            self._looking.cancel()
            self._looking, self.seen = None, {}

    async def _look_on(self) -> None:
        asked = engines.Engines()
        try:
            while True:
                await self._look(asked)
                for wake in tuple(self._readers):
                    wake()
                await asyncio.sleep(EVERY_S)
        finally:
            await asked.aclose()

    async def _look(self, asked: engines.Engines) -> None:
        try:
            rows = await database_sync_to_async(connections.every)()
        except DatabaseError as error:
            log.warning("no look at the engines: %s", type(error).__name__)
            return
        states = await engines.states(rows, asked)
        self.seen = dict(zip((row.pk for row in rows), states, strict=True))


_lookouts: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, Lookout] = (
    weakref.WeakKeyDictionary()
)


def lookout() -> Lookout:
    """The one of the running event loop."""
    return _lookouts.setdefault(asyncio.get_running_loop(), Lookout())
