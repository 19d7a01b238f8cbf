"""Keeps the catalogue as the engines tell it. One that is silent keeps what was known."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping, Sequence
from uuid import UUID

from chat.domain import catalogue, connections, pins
from chat.engines import Engines
from chat.models import EngineConnection
from chat.runner import pace
from chat.runner.desk import Desk
from engine_adapter.engine import Engine, Pinner
from engine_adapter.errors import EngineError
from engine_adapter.types import ModelCard

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
    await pin_as_said(engines.of(row), await shelf.do(pins.of, row), cards)


async def pin_as_said(engine: Engine, said: Mapping[str, bool], cards: Sequence[ModelCard]) -> None:
    """Tell an engine that was started anew what administrators said of its models."""
    if not isinstance(engine, Pinner):
        return
    for card in cards:
        if card.pinned is not None and said.get(card.name, card.pinned) != card.pinned:
            try:
                await engine.pin_model(card.name, pinned=not card.pinned)
            except EngineError as error:
                # Tried again with the next look: others may have given their memory back then.
                log.info("a model is not pinned yet: %s", error.code)
