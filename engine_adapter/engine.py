"""The one protocol behind which every engine stands."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping, Sequence
from typing import Protocol, runtime_checkable

from engine_adapter.types import Embeddings, Event, Gauges, ModelCard, Pulled, Request


class Engine(Protocol):
    """Something that writes answers.

    Implementations hold connections, so one instance serves many requests at once and is closed
    with ``aclose()``.
    """

    def stream(self, request: Request) -> AsyncGenerator[Event]:
        """Write the answer to ``request``, event by event.

        The iterator ends with exactly one ``Finished`` or ``Failed`` and raises no
        ``EngineError`` itself. Closing it early (``aclose()``, cancellation) cancels the answer
        in the engine.
        """
        ...

    async def models(self) -> Sequence[ModelCard]:
        """The models that can be asked now. Raises ``EngineError``."""
        ...

    async def health(self) -> None:
        """Return when the engine can take requests; raise ``EngineError`` with the reason."""
        ...

    async def aclose(self) -> None:
        """Close every connection; running streams end with ``Failed``."""
        ...


@runtime_checkable
class Embedder(Protocol):
    """What an engine offers besides when it can turn texts into vectors."""

    async def embed(self, model: str, texts: Sequence[str]) -> Embeddings:
        """One vector a text. Raises ``EngineError``."""
        ...


@runtime_checkable
class Metered(Protocol):
    """What an engine offers besides when it counts what it does."""

    def metrics(self) -> bytes:
        """Its counters in Prometheus' text form."""
        ...


@runtime_checkable
class Gauged(Protocol):
    """What an engine offers besides when it can be asked how busy it is."""

    async def gauges(self) -> Gauges:
        """How busy it is now. Raises ``EngineError``."""
        ...


@runtime_checkable
class GaugedEach(Protocol):
    """What an engine offers besides when it may tell how busy each of its models is."""

    async def gauges_by_model(self) -> Mapping[str, Gauges]:
        """How busy each model is; nothing where it tells only of all together. Raises
        ``EngineError``."""
        ...


@runtime_checkable
class Loader(Protocol):
    """What an engine offers besides when models can be loaded and unloaded from outside."""

    async def load_model(self, model: str) -> None:
        """Have ``model`` in memory. Raises ``EngineError``."""
        ...

    async def unload_model(self, model: str) -> None:
        """Have the memory of ``model`` free. Raises ``EngineError``."""
        ...


@runtime_checkable
class Pinner(Protocol):
    """What an engine offers besides when models can be kept in memory from outside."""

    async def pin_model(self, model: str, *, pinned: bool) -> None:
        """Have ``model`` in memory and never unload it for others, or no longer so. Whoever pins
        says so again after the engine was started anew. Raises ``EngineError``."""
        ...


@runtime_checkable
class Puller(Protocol):
    """What an engine offers besides when it can fetch models by itself."""

    def pull(self, model: str) -> AsyncGenerator[Pulled]:
        """Download ``model``, and say how far it is. Closing it early stops the download; what
        has come is kept there. Raises ``EngineError``."""
        ...
