"""From an ``EngineConnection`` row to the engine behind it. One adapter a connection."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final, cast

from django.conf import settings

from chat.domain import vault
from chat.models import EngineConnection
from engine_adapter.engine import Engine, Gauged, Loader
from engine_adapter.errors import EngineError, Refused, Unreachable
from engine_adapter.remote.detection import Found, look
from engine_adapter.remote.host import HostEngine
from engine_adapter.remote.http_engine import Breath
from engine_adapter.remote.kinds import Kind, open_engine
from engine_adapter.types import Gauges, ModelCard

__all__ = ["Engines", "Found", "State", "cards", "look", "move", "states"]

LOOK_S: Final = 4.0  # what an open page waits for an engine that is slow to say how it is doing


class Engines:
    """The engines one event loop talks to. Close it with ``aclose()``.

    ``breath`` is what the readers of answers wait for between two looks; see ``HttpEngine``.
    """

    def __init__(self, breath: Breath | None = None) -> None:
        self._open: dict[tuple[str, ...], Engine] = {}
        self._breath = breath

    def of(self, connection: EngineConnection) -> Engine:
        """The adapter for ``connection``, opened at first use.

        Raises ``Unreachable`` where its key or its certificate file cannot be used.
        """
        row = connection
        key = (str(row.pk), row.kind, row.url, row.sealed_key, row.ca_file)
        if key not in self._open:
            self._open[key] = _open(connection, self._breath)
        return self._open[key]

    async def aclose(self) -> None:
        """Close every connection; running streams end."""
        engines, self._open = list(self._open.values()), {}
        for engine in engines:
            await engine.aclose()


def _open(connection: EngineConnection, breath: Breath | None) -> Engine:
    if connection.kind == EngineConnection.Kind.BUNDLED:
        return HostEngine(settings.ENGINE_URL, breath=breath)
    try:
        return open_engine(
            cast("Kind", connection.kind),
            connection.url,
            api_key=vault.unseal(connection.sealed_key) or None,
            ca_file=connection.ca_file or None,
            breath=breath,
        )
    except ValueError as error:
        raise Unreachable(str(error)) from error
    except vault.Unreadable as error:
        raise Unreachable("The engine's key was sealed with another secret key.") from error


@dataclass(frozen=True, slots=True)
class State:
    """How an engine is doing: its models by name, whether it loads them when told, its gauges; or
    why it does not say."""

    cards: dict[str, ModelCard]
    loads: bool = False
    gauges: Gauges | None = None
    error: EngineError | None = None


async def cards(connection: EngineConnection) -> Sequence[ModelCard]:
    """The models of one engine. Raises ``EngineError``."""
    engines = Engines()
    try:
        return await engines.of(connection).models()
    finally:
        await engines.aclose()


async def move(connection: EngineConnection, model: str, *, load: bool) -> None:
    """Have a model in memory, or its memory free. Whoever takes long goes on with it alone.

    Raises ``EngineError``.
    """
    engines = Engines()
    try:
        engine = engines.of(connection)
        if not isinstance(engine, Loader):
            raise Refused("This engine loads no models when told.")
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(LOOK_S):
                await (engine.load_model(model) if load else engine.unload_model(model))
    finally:
        await engines.aclose()


async def states(connections: Iterable[EngineConnection]) -> list[State]:
    """How each is doing, all asked at once; one that is slow is not waited for long."""
    engines = Engines()
    try:
        return await asyncio.gather(*(_state(engines, row) for row in connections))
    finally:
        await engines.aclose()


async def _state(engines: Engines, connection: EngineConnection) -> State:
    try:
        async with asyncio.timeout(LOOK_S):
            engine = engines.of(connection)
            cards = {card.name: card for card in await engine.models()}
            gauges = await engine.gauges() if isinstance(engine, Gauged) else None
    except TimeoutError:
        return State({}, error=Unreachable("No answer in time.").because("silent"))
    except EngineError as error:
        return State({}, error=error)
    return State(cards, isinstance(engine, Loader), gauges)
