"""An engine that speaks OpenAI's dialect over HTTP: our own engine host, and most others.

Drives the stream. payload.py says what is sent, answer.py what frames mean, faults.py what errors.
"""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, get_args

from engine_adapter.errors import Broken, EngineError
from engine_adapter.remote import client as line
from engine_adapter.remote import faults
from engine_adapter.remote.answer import Answer
from engine_adapter.remote.client import PATIENCE, Timeouts
from engine_adapter.remote.payload import CONTINUE, HOST_EXTRAS, payload
from engine_adapter.thinking import ThinkingTags
from engine_adapter.types import Event, Failed, ModelCard, ModelState, Request

if TYPE_CHECKING:
    import httpx

__all__ = ["HOST_EXTRAS", "OpenAIEngine"]

Breath = Callable[[], Awaitable[None]]
_DRAIN_S = 0.5  # after [DONE] only the end of the reply is missing; with it the line can be reused


class OpenAIEngine:
    """An engine at ``base_url`` (``http(s)://host[/v1]`` or ``unix:///path``).

    ``extras`` names the fields beyond OpenAI's own that may be sent, out of ``HOST_EXTRAS``:
    strict servers refuse a request with a field they do not know. ``breath`` is waited for before
    each look at an answer that has begun, by whoever reads many and wants them all at once.
    """

    def __init__(
        self,
        base_url: str,
        *,
        api_key: str | None = None,
        ca_file: str | None = None,
        timeouts: Timeouts = PATIENCE,
        extras: frozenset[str] = frozenset(),
        breath: Breath | None = None,
    ) -> None:
        base_url = base_url.rstrip("/").removesuffix("/v1")
        self._client = line.open_client(
            base_url, api_key=api_key, ca_file=ca_file, timeouts=timeouts
        )
        self._timeouts = timeouts
        self._extras = extras
        self._breath = breath

    async def stream(self, request: Request) -> AsyncGenerator[Event, None]:
        """See ``Engine.stream``. Closing the iterator closes the HTTP reply, which cancels."""
        try:
            response = await self._ask(request)
        except EngineError as error:
            yield Failed(error)
            return
        answer = Answer(self._tags(request))
        try:
            while not answer.over:
                begun, patience = answer.begun, self._timeouts
                if begun and self._breath is not None:
                    await self._breath()
                try:
                    chunk = await line.next_chunk(
                        response,
                        patience.between_s if begun else patience.first_s,
                        then_pause=begun and self._breath is not None,
                    )
                except EngineError as error:
                    answer.fail(error)
                    break
                if chunk is None:
                    break
                for event in answer.feed(chunk):
                    yield event
            for event in answer.end():
                yield event
            with suppress(EngineError):
                await line.next_chunk(response, _DRAIN_S)
        finally:
            await response.aclose()

    async def models(self) -> Sequence[ModelCard]:
        """See ``Engine.models``."""
        return _cards(await self._get("v1/models"))

    async def health(self) -> None:
        """See ``Engine.health``. A server without ``/health`` is asked for its models instead."""
        response, body = await line.fetch(self._client, "health", within_s=self._timeouts.reply_s)
        if response.status_code in {404, 405}:
            await self._get("v1/models")
        elif response.status_code != 200:
            raise faults.from_reply(response.status_code, response.headers, body)

    async def aclose(self) -> None:
        """See ``Engine.aclose``."""
        await self._client.aclose()

    async def _ask(self, request: Request) -> httpx.Response:
        """The open reply that streams the answer."""
        fields = payload(request, self._extras)
        body = json.dumps(fields, ensure_ascii=False).encode("utf-8", "replace")
        response = await line.send(self._client, "POST", "v1/chat/completions", body=body)
        if response.status_code != 200:
            reply = await line.read_reply(response, within_s=self._timeouts.reply_s)
            raise faults.from_reply(response.status_code, response.headers, reply)
        if "event-stream" not in response.headers.get("content-type", "text/event-stream"):
            reply = await line.read_reply(response, within_s=self._timeouts.reply_s)
            raise faults.instead_of_stream(reply)
        return response

    async def _get(self, path: str) -> object:
        response, body = await line.fetch(self._client, path, within_s=self._timeouts.reply_s)
        if response.status_code != 200:
            raise faults.from_reply(response.status_code, response.headers, body)
        try:
            return json.loads(body)
        except (ValueError, RecursionError):
            raise Broken("The engine's reply is not JSON.") from None

    def _tags(self, request: Request) -> ThinkingTags | None:
        # An answer that goes on was past its reasoning, or its first part told where it is.
        return None if request.continue_final else ThinkingTags()


def _cards(listing: object) -> list[ModelCard]:
    data = listing.get("data") if isinstance(listing, dict) else None
    if not isinstance(data, list):
        raise Broken("The engine's model list has no 'data'.")
    return [_card(m) for m in data if isinstance(m, dict) and isinstance(m.get("id"), str)]


def _card(model: dict[str, Any]) -> ModelCard:
    meta = model["meta"] if isinstance(model.get("meta"), dict) else {}
    capabilities = model.get("capabilities")
    return ModelCard(
        name=model["id"],
        context_length=_number(model.get("max_model_len")) or _number(meta.get("n_ctx")),
        size_bytes=_number(meta.get("size")),
        quantization=_text(meta.get("quantization")) or _text(meta.get("ftype")),
        sha256=_text(meta.get("sha256")),
        continues=isinstance(capabilities, list) and CONTINUE in capabilities,
        state=next((state for state in get_args(ModelState) if state == meta.get("state")), None),
        kind="embeddings" if meta.get("kind") == "embeddings" else "text",
        parent=_text(model.get("parent")),
        reason=_text(meta.get("reason")),
    )


def _number(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else None


def _text(value: object) -> str | None:
    return value if isinstance(value, str) and value else None
