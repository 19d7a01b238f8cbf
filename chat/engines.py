"""From rows to the engines behind them: one adapter a connection, one pool a model of several."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, cast
from uuid import UUID
from weakref import WeakValueDictionary

from django.conf import settings

from chat.domain import vault, versions
from chat.models import EngineConnection, LanguageModel
from engine_adapter.engine import Engine, Gauged, GaugedEach, Loader, Pinner
from engine_adapter.errors import EngineError, Refused, Unreachable
from engine_adapter.pool import Known, Member, Pool
from engine_adapter.reasons import why
from engine_adapter.remote.client import BadAddress
from engine_adapter.remote.detection import Found, look
from engine_adapter.remote.host import HostEngine
from engine_adapter.remote.http_engine import Breath
from engine_adapter.remote.kinds import Kind, open_engine
from engine_adapter.types import Gauges, ModelCard

__all__ = [
    "BadAddress",
    "Engines",
    "Found",
    "State",
    "cards",
    "gauges",
    "look",
    "move",
    "pin",
    "states",
]

Each = Mapping[str, Gauges]
LOOK_S: Final = 4.0  # what an open page waits for an engine that is slow to say how it is doing

Key = tuple[str, ...]
# What one part of a process learns of an engine of a pool, all of it knows, as long as one of them
# still asks it.
_known: WeakValueDictionary[Key, Known] = WeakValueDictionary()


class Engines:
    """The engines one event loop talks to. Close it with ``aclose()``.

    ``breath`` is what the readers of answers wait for between two looks; see ``HttpEngine``.
    """

    def __init__(self, breath: Breath | None = None) -> None:
        self._open: dict[Key, Engine] = {}
        self._pools: dict[UUID, Pool] = {}
        self._breath = breath

    def of(self, connection: EngineConnection) -> Engine:
        """The adapter for ``connection``, opened at first use.

        Raises ``Unreachable`` where its key or its certificate file cannot be used.
        """
        key = _key(connection)
        if key not in self._open:
            self._open[key] = _open(connection, self._breath)
        return self._open[key]

    def serving(self, language_model: LanguageModel, members: Sequence[LanguageModel]) -> Engine:
        """What answers in the name of ``language_model``: its engine, or its ``members`` as one.

        Whoever asks several is told with ``Progress.engine`` the id of the row that is asked. One
        that cannot be used is left out; raises ``Unreachable`` where that are all.
        """
        if [row.pk for row in members] == [language_model.pk]:
            return self.of(language_model.engine)
        found: list[Member] = []
        trouble = Unreachable("No engine serves this model.")
        for row in members:
            try:
                found.append(self._member(row))
            except Unreachable as error:
                trouble = error
        if not found:
            raise trouble
        pool = self._pools.get(language_model.pk)
        if pool is None:
            pool = self._pools[language_model.pk] = Pool(language_model.name, found)
        pool.serve_with(found)
        return pool

    def _member(self, row: LanguageModel) -> Member:
        engine, runs = self.of(row.engine), versions.running(row)
        known = _known.setdefault((*_key(row.engine), runs.name), Known())
        return Member(str(row.pk), runs.name, engine, known, row.continues, runs.sha256)

    async def aclose(self) -> None:
        """Close every connection; running streams end."""
        engines: list[Engine] = [*self._pools.values(), *self._open.values()]
        self._pools, self._open = {}, {}
        for engine in engines:
            await engine.aclose()


def _key(row: EngineConnection) -> Key:
    return (str(row.pk), row.kind, row.url, row.sealed_key, row.ca_file)


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
    except BadAddress as error:
        raise Unreachable(error.why) from error
    except vault.Unreadable as error:
        raise Unreachable(why("key_sealed")) from error


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
            raise Refused(why("loads_nothing"))
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(LOOK_S):
                await (engine.load_model(model) if load else engine.unload_model(model))
    finally:
        await engines.aclose()


async def pin(connection: EngineConnection, model: str, *, pinned: bool) -> None:
    """Have a model in memory always, or no longer so; until the engine is started anew.

    Raises ``EngineError``.
    """
    engines = Engines()
    try:
        engine = engines.of(connection)
        if not isinstance(engine, Pinner):
            raise Refused(why("pins_nothing"))
        async with asyncio.timeout(LOOK_S):
            await engine.pin_model(model, pinned=pinned)
    except TimeoutError:
        raise Unreachable("No answer in time.").because("silent") from None
    finally:
        await engines.aclose()


async def states(
    connections: Iterable[EngineConnection], engines: Engines | None = None
) -> list[State]:
    """How each is doing, all asked at once; one that is slow is not waited for long. Who looks
    again and again gives the ``engines`` that it keeps open."""
    asked = engines or Engines()
    try:
        return await asyncio.gather(*(_state(asked, row) for row in connections))
    finally:
        if engines is None:
            await asked.aclose()


async def gauges(connection: EngineConnection, engines: Engines) -> tuple[Gauges, Each]:
    """How busy an engine is, all in all and for each model where it tells that."""
    engine = engines.of(connection)
    async with asyncio.timeout(LOOK_S):
        whole = await engine.gauges() if isinstance(engine, Gauged) else Gauges()
        each = await engine.gauges_by_model() if isinstance(engine, GaugedEach) else {}
    return whole, each


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
