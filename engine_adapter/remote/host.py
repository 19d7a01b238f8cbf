"""Our own engine host: OpenAI's dialect with every field of ours, and vLLM's names of gauges."""

from __future__ import annotations

from typing import ClassVar

from engine_adapter.remote.openai import HOST_EXTRAS, OpenAIEngine
from engine_adapter.remote.vllm import NAMES
from engine_adapter.types import Gauges


class HostEngine(OpenAIEngine):
    """The host of the bundled engine, ``python -m engine_adapter serve``."""

    extras: ClassVar[frozenset[str]] = HOST_EXTRAS

    async def load_model(self, model: str) -> None:
        """See ``Loader.load_model``."""
        await self._told("models/load", {"model": model}, self._timeouts.first_s)

    async def unload_model(self, model: str) -> None:
        """See ``Loader.unload_model``. Raises ``Refused`` while somebody is using it."""
        await self._told("models/unload", {"model": model})

    async def gauges(self) -> Gauges:
        """See ``Gauged.gauges``."""
        return await self._measured("metrics", NAMES)
