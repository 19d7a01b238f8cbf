"""From an ``EngineConnection`` row to the engine behind it. One adapter a connection."""

from __future__ import annotations

from django.conf import settings

from chat.models import EngineConnection
from engine_adapter.engine import Engine
from engine_adapter.remote.openai import HOST_EXTRAS, Breath, OpenAIEngine


class Engines:
    """The engines one event loop talks to. Close it with ``aclose()``.

    ``breath`` is what the readers of answers wait for between two looks; see ``OpenAIEngine``.
    """

    def __init__(self, breath: Breath | None = None) -> None:
        self._open: dict[str, Engine] = {}
        self._breath = breath

    def of(self, connection: EngineConnection) -> Engine:
        """The adapter for ``connection``, opened at first use."""
        key = f"{connection.pk} {connection.url}"
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
        return OpenAIEngine(settings.ENGINE_URL, extras=HOST_EXTRAS, breath=breath)
    return OpenAIEngine(connection.url, breath=breath)
