"""Keeps the catalogue as the engines tell it. One that is silent keeps what was known."""

from __future__ import annotations

import asyncio
import logging
from uuid import UUID

from chat.domain import catalogue, connections
from chat.engines import Engines
from chat.models import EngineConnection
from chat.runner import pace
from chat.runner.desk import Desk
from engine_adapter.errors import EngineError

log = logging.getLogger(__name__)


async def look_at_engines(engines: Engines, shelf: Desk) -> None:
    """Ask all engines for their models, now and then, until cancelled."""
    silent: set[UUID] = set()
    while True:
        rows = await shelf.do(connections.every)
        await asyncio.gather(*(_look(engines, shelf, row, silent) for row in rows))
        await asyncio.sleep(pace.CATALOGUE_SILENT_S if silent else pace.CATALOGUE_S)


async def _look(engines: Engines, shelf: Desk, row: EngineConnection, silent: set[UUID]) -> None:
    try:
        cards = await engines.of(row).models()
    except EngineError as error:
        if row.pk not in silent:
            log.warning("engine %s tells no models: %s", row.pk, error.code)
        silent.add(row.pk)
        return
    silent.discard(row.pk)
    await shelf.do(catalogue.refresh, row, cards)
