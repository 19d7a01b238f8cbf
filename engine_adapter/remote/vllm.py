"""vLLM: OpenAI's dialect with priority (smaller goes first) and isolated prefix caches."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, ClassVar

from engine_adapter.remote.gauge_text import Names
from engine_adapter.remote.openai import OpenAIEngine
from engine_adapter.remote.payload import CONTINUE
from engine_adapter.types import Gauges, ModelCard, Request

NAMES = Names(
    running="vllm:num_requests_running",
    waiting="vllm:num_requests_waiting",
    kv_use="vllm:kv_cache_usage_perc",
    preempted="vllm:num_preemptions_total",
    written="vllm:generation_tokens_total",
    hits="vllm:prefix_cache_hits_total",
    asked="vllm:prefix_cache_queries_total",
)


class VllmEngine(OpenAIEngine):
    """A vLLM server. Its key does not guard ``/metrics``."""

    extras: ClassVar[frozenset[str]] = frozenset(
        {
            *("priority", "cache_salt", CONTINUE),
            *("top_k", "min_p", "repetition_penalty", "ignore_eos"),
        }
    )

    async def gauges(self) -> Gauges:
        """See ``Gauged.gauges``."""
        return await self._measured("metrics", NAMES)

    async def gauges_by_model(self) -> Mapping[str, Gauges]:
        """See ``GaugedEach.gauges_by_model``."""
        return await self._measured_each("metrics", NAMES)

    async def _cards(self) -> list[ModelCard]:
        return [replace(card, continues=True) for card in await super()._cards()]

    async def _fields(self, request: Request, extras: frozenset[str]) -> dict[str, Any]:
        fields = await super()._fields(request, extras)
        # Some versions refuse any priority but none where they serve first come, first served.
        return {name: value for name, value in fields.items() if name != "priority" or value}
