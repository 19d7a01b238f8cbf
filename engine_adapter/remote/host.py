"""Our own engine host: OpenAI's dialect with every field of ours, and vLLM's names of gauges."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import ClassVar

from engine_adapter import arriving
from engine_adapter.arriving import Inspected
from engine_adapter.errors import Broken
from engine_adapter.remote import vllm
from engine_adapter.remote.openai import HOST_EXTRAS, OpenAIEngine
from engine_adapter.types import Gauges

NAMES = replace(vllm.NAMES, slots="konak:slots")


class HostEngine(OpenAIEngine):
    """The host of the bundled engine, ``python -m engine_adapter serve``."""

    extras: ClassVar[frozenset[str]] = HOST_EXTRAS

    async def load_model(self, model: str) -> None:
        """See ``Loader.load_model``."""
        await self._told("models/load", {"model": model}, self._timeouts.first_s)

    async def unload_model(self, model: str) -> None:
        """See ``Loader.unload_model``. Raises ``Refused`` while somebody is using it."""
        await self._told("models/unload", {"model": model})

    async def pin_model(self, model: str, *, pinned: bool) -> None:
        """See ``Pinner.pin_model``."""
        await self._told(f"models/{'pin' if pinned else 'unpin'}", {"model": model})

    async def inspect(self, file: str, name: str) -> Inspected:
        """See ``Inspector.inspect``."""
        told = await self._told("models/inspect", {"file": file, "name": name})
        try:
            return arriving.from_json(told)
        except ValueError as error:
            raise Broken(str(error)).because("dialect") from error

    async def gauges(self) -> Gauges:
        """See ``Gauged.gauges``."""
        return await self._measured("metrics", NAMES)

    async def gauges_by_model(self) -> Mapping[str, Gauges]:
        """See ``GaugedEach.gauges_by_model``."""
        return await self._measured_each("metrics", NAMES)
