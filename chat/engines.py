"""From an ``EngineConnection`` row to the engine behind it. One adapter a connection."""

from __future__ import annotations

from django.conf import settings

from chat.models import EngineConnection
from engine_adapter.engine import Engine
from engine_adapter.remote.openai import HOST_EXTRAS, OpenAIEngine


class Engines:
    """The engines one event loop talks to. Close it with ``aclose()``."""

    def __init__(self) -> None:
        self._open: dict[str, Engine] = {}

    def of(self, connection: EngineConnection) -> Engine:
        """The adapter for ``connection``, opened at first use."""
        key = f"{connection.pk} {connection.url}"
        if key not in self._open:
            self._open[key] = _open(connection)
        return self._open[key]

    async def aclose(self) -> None:
        """Close every connection; running streams end."""
        engines, self._open = list(self._open.values()), {}
        for engine in engines:
            await engine.aclose()


def _open(connection: EngineConnection) -> Engine:
    if connection.kind == EngineConnection.Kind.BUNDLED:
        return OpenAIEngine(settings.ENGINE_URL, extras=HOST_EXTRAS)
    return OpenAIEngine(connection.url)
