"""SGLang: OpenAI's dialect with isolated prefix caches and priorities that run the other way."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Any, ClassVar

from engine_adapter.errors import EngineError
from engine_adapter.remote.cards import flag
from engine_adapter.remote.gauge_text import Names
from engine_adapter.remote.openai import OpenAIEngine
from engine_adapter.remote.payload import CONTINUE
from engine_adapter.types import Gauges, ModelCard, Request

NAMES = Names(
    running="sglang:num_running_reqs",
    waiting="sglang:num_queue_reqs",
    kv_use="sglang:token_usage",
    preempted="sglang:num_retracted_reqs",
    written="sglang:generation_tokens_total",
    hits="sglang:cached_tokens_total",
    asked="sglang:prompt_tokens_total",
    hit_rate="sglang:cache_hit_rate",
)


class SglangEngine(OpenAIEngine):
    """An SGLang server. It answers to any model's name with the one model it has."""

    takes_any_name: ClassVar[bool] = True
    extras: ClassVar[frozenset[str]] = frozenset(
        {
            *("priority", "cache_salt", CONTINUE),
            *("top_k", "min_p", "repetition_penalty", "ignore_eos"),
        }
    )
    _settings: Mapping[str, Any] | None = None

    async def gauges(self) -> Gauges:
        """See ``Gauged.gauges``. Nothing is known where it was started without metrics."""
        return await self._measured("metrics", NAMES)

    async def gauges_by_model(self) -> Mapping[str, Gauges]:
        """See ``GaugedEach.gauges_by_model``."""
        return await self._measured_each("metrics", NAMES)

    async def _cards(self) -> list[ModelCard]:
        info = await self._perhaps("model_info")
        told = await self._server_settings()
        return [
            replace(
                card,
                continues=True,
                vision=flag(info.get("has_image_understanding")),
                kind="embeddings" if info.get("is_generation") is False else "text",
                tools=bool(told["tool_call_parser"]) if "tool_call_parser" in told else None,
                reasoning=bool(told["reasoning_parser"]) if "reasoning_parser" in told else None,
            )
            for card in await super()._cards()
        ]

    async def _fields(self, request: Request, extras: frozenset[str]) -> dict[str, Any]:
        fields = await super()._fields(request, extras)
        if urgency := fields.pop("priority", 0):
            told = await self._server_settings()
            # It is refused or ignored where it is switched off; larger goes first by default.
            if told.get("enable_priority_scheduling", True):
                smaller_first = told.get("schedule_low_priority_values_first") is True
                fields["priority"] = urgency if smaller_first else -urgency
        return fields

    async def _server_settings(self) -> Mapping[str, Any]:
        if self._settings is None:
            self._settings = await self._perhaps("server_info")
        return self._settings

    async def _perhaps(self, path: str) -> Mapping[str, Any]:
        """The object at ``path``, an empty one where an older version has none."""
        with suppress(EngineError):
            told = await self._told(path)
            return told if isinstance(told, dict) else {}
        return {}
