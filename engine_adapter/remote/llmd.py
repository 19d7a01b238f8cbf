"""llm-d: a cluster of vLLM servers behind a gateway that routes, queues and shares out fairly.

The body is vLLM's; what the gateway goes by stands in headers. It tells nothing of its load.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from engine_adapter import conversation
from engine_adapter.remote.vllm import VllmEngine
from engine_adapter.types import Gauges, Request

if TYPE_CHECKING:
    import httpx

URGENT, BACKGROUND = "konak-urgent", "konak-background"
"""Names of the ``InferenceObjective`` resources that an administrator of the cluster may make;
where there are none of these names, the gateway gives every request its ordinary priority."""
_SESSION = "x-session-token"
_KEPT = 4096  # conversations whose server is remembered


class LlmdEngine(VllmEngine):
    """A gateway of llm-d."""

    def __init__(self, base_url: str, **how: Any) -> None:
        super().__init__(base_url, **how)
        self._sessions: OrderedDict[str, str] = OrderedDict()

    async def health(self) -> None:
        """See ``Engine.health``. A gateway has no route of its own for it."""
        await self._told("v1/models")

    async def gauges(self) -> Gauges:
        """See ``Gauged.gauges``. The gateway tells nothing of those behind it."""
        return Gauges()

    async def gauges_by_model(self) -> Mapping[str, Gauges]:
        """See ``GaugedEach.gauges_by_model``."""
        return {}

    async def _open(self, request: Request) -> httpx.Response:
        response = await super()._open(request)
        if token := response.headers.get(_SESSION):
            self._sessions[conversation.name_of(request)] = token
            self._sessions.move_to_end(conversation.name_of(request))
            if len(self._sessions) > _KEPT:
                self._sessions.popitem(last=False)
        return response

    def _headers(self, request: Request) -> Mapping[str, str]:
        headers = {"x-request-id": uuid4().hex}
        if flow := request.user or request.cache_salt:
            headers |= _both("fairness-id", flow)
        if request.priority:
            headers |= _both("objective", URGENT if request.priority < 0 else BACKGROUND)
        if token := self._sessions.get(conversation.name_of(request)):
            headers[_SESSION] = token
        return headers


def _both(name: str, value: str) -> dict[str, str]:
    """A header by its name and by the one it had before."""
    return {f"x-{by}-inference-{name}": value for by in ("llm-d", "gateway")}
