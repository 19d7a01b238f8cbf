"""An engine that speaks OpenAI's dialect over HTTP: our own engine host, and most others.

payload.py says what is sent, answer.py what frames mean, faults.py what errors. The dialects that
differ in a field or a header are small classes over this one.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar

from engine_adapter.errors import ContextTooLong, ModelChanged, Refused
from engine_adapter.remote import cards, faults
from engine_adapter.remote import client as line
from engine_adapter.remote.answer import Answer
from engine_adapter.remote.client import PATIENCE, Timeouts
from engine_adapter.remote.http_engine import Breath, HttpEngine
from engine_adapter.remote.payload import HOST_EXTRAS, payload
from engine_adapter.thinking import ThinkingTags
from engine_adapter.types import ModelCard, Request

if TYPE_CHECKING:
    import httpx

__all__ = ["HOST_EXTRAS", "Breath", "OpenAIEngine"]


class OpenAIEngine(HttpEngine):
    """Any server of the dialect; ``base_url`` may end in ``/v1``.

    ``extras`` names the fields beyond OpenAI's own that may be sent, out of ``HOST_EXTRAS``:
    strict servers refuse a request with a field they do not know.
    """

    extras: ClassVar[frozenset[str]] = frozenset()
    renamed: ClassVar[Mapping[str, str]] = {}
    """Fields that this engine knows under another name."""

    def __init__(
        self,
        base_url: str,
        *,
        api_key: str | None = None,
        ca_file: str | None = None,
        timeouts: Timeouts = PATIENCE,
        extras: frozenset[str] | None = None,
        breath: Breath | None = None,
    ) -> None:
        super().__init__(
            base_url, api_key=api_key, ca_file=ca_file, timeouts=timeouts, breath=breath
        )
        self._extras = self.extras if extras is None else extras

    async def health(self) -> None:
        """See ``Engine.health``. A server without ``/health`` is asked for its models instead."""
        response, body = await line.fetch(self._client, "health", within_s=self._timeouts.reply_s)
        if response.status_code in {404, 405}:
            await self._told("v1/models")
        elif response.status_code != 200:
            raise faults.from_reply(response.status_code, response.headers, body)

    async def _cards(self) -> list[ModelCard]:
        return cards.listed(await self._told("v1/models"))

    async def _open(self, request: Request) -> httpx.Response:
        try:
            response = await self._ask(request)
        except (ContextTooLong, ModelChanged):
            raise
        except Refused as error:
            # Older servers, and some with first-come scheduling, refuse a field that only orders.
            if not request.priority or "priority" not in self._extras or error.cause:
                raise
            response = await self._ask(request, without="priority")
            self._extras -= {"priority"}
        if "event-stream" not in response.headers.get("content-type", "text/event-stream"):
            reply = await line.read_reply(response, within_s=self._timeouts.reply_s)
            raise faults.instead_of_stream(reply)
        return response

    async def _ask(self, request: Request, *, without: str = "") -> httpx.Response:
        fields = await self._fields(request, self._extras - {without})
        named = {self.renamed.get(name, name): value for name, value in fields.items()}
        return await self._post("v1/chat/completions", named, self._headers(request))

    async def _fields(self, request: Request, extras: frozenset[str]) -> dict[str, Any]:
        """The body of a request."""
        return payload(request, extras)

    def _headers(self, request: Request) -> Mapping[str, str]:
        """Headers beyond those of every request."""
        return {}

    def _reader(self, request: Request) -> Answer:
        # An answer that goes on was past its reasoning, or its first part told where it is.
        return Answer(None if request.continue_final else ThinkingTags(), calls_tell=True)
