"""TensorRT-LLM's ``trtllm-serve``: OpenAI's dialect, strict, with priorities between 0 and 1."""

from __future__ import annotations

import math
from typing import Any, ClassVar

from engine_adapter.remote.gauge_text import Names
from engine_adapter.remote.openai import OpenAIEngine
from engine_adapter.types import Gauges, Request

NAMES = Names(
    running="trtllm_num_requests_running",
    waiting="trtllm_num_requests_waiting",
    kv_use="trtllm_kv_cache_utilization",
    hit_rate="trtllm_kv_cache_hit_rate",
)
_STEP = 10  # as far as our classes of priority lie apart


class TrtllmEngine(OpenAIEngine):
    """A ``trtllm-serve``. It tells no context length, and answers to any model's name.

    ``/metrics`` is never read: each reading takes its numbers away from whoever reads it next.
    """

    takes_any_name: ClassVar[bool] = True
    extras: ClassVar[frozenset[str]] = frozenset(
        {
            *("priority", "cache_salt"),
            *("top_k", "min_p", "repetition_penalty", "ignore_eos"),
        }
    )

    async def gauges(self) -> Gauges:
        """See ``Gauged.gauges``. Nothing is known where it was started without metrics."""
        return await self._measured("prometheus/metrics", NAMES)

    async def _fields(self, request: Request, extras: frozenset[str]) -> dict[str, Any]:
        fields = await super()._fields(request, extras)
        if urgency := fields.pop("priority", 0):
            # Larger goes first, 0.5 is the middle; any whole number of ours finds its place.
            fields["priority"] = round(0.5 - math.atan(urgency / _STEP) / math.pi, 4)
        return fields
