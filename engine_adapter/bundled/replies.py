"""What the endpoints share: a body within its cap, a model that is there, and error replies."""

from __future__ import annotations

import math

from starlette.requests import Request as HttpRequest
from starlette.responses import Response

from engine_adapter.bundled.dialect import listing, told
from engine_adapter.bundled.dialect.fields import BadRequest, Json
from engine_adapter.engine import Engine
from engine_adapter.errors import EngineError, Overloaded
from engine_adapter.types import ModelKind

LARGEST_BODY = 8 << 20  # bytes; a long conversation of many books has some 2 MiB
_OFFERS: dict[ModelKind, str] = {"text": "writes no answers", "embeddings": "makes no embeddings"}


class TooLarge(Exception):
    """The body passes the cap."""


async def body(http: HttpRequest) -> bytes:
    """The whole body. Raises ``TooLarge`` without reading on, and ``ClientDisconnect``."""
    length = http.headers.get("content-length", "")
    if length.isdecimal() and int(length[:20]) > LARGEST_BODY:
        raise TooLarge
    chunks = bytearray()
    async for chunk in http.stream():
        chunks += chunk
        if len(chunks) > LARGEST_BODY:
            raise TooLarge
    return bytes(chunks)


async def check_model(engine: Engine, name: str, kind: ModelKind) -> Response | None:
    """The refusal of a model that is not there or not of this kind."""
    try:
        card = next((card for card in await engine.models() if card.name == name), None)
    except EngineError as error:
        return failed(error)
    if card is None:
        return refused(404, f"There is no model named '{name[:200]}'.", "model_not_found", "model")
    if card.kind != kind:
        return refused(400, f"The model '{name}' {_OFFERS[kind]}.", "refused", "model")
    return None


def of(value: Json, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    """A reply of JSON, whatever half characters an engine may have put in it."""
    return Response(told.encoded(value), status, headers, "application/json")


def unread(error: BadRequest | TooLarge) -> Response:
    """The reply to a body that cannot be read."""
    if isinstance(error, BadRequest):
        return refused(400, str(error), "bad_request", error.param)
    text = f"The body is larger than {LARGEST_BODY} bytes."
    # What is left of the body is not read, so the connection cannot be used again.
    return refused(413, text, "body_too_large", headers={"Connection": "close"})


def refused(
    status: int,
    text: str,
    code: str,
    param: str | None = None,
    headers: dict[str, str] | None = None,
) -> Response:
    """The reply to a request that is at fault itself."""
    shape = listing.error(text, "invalid_request_error", code, param)
    return of(shape, status, headers)


def failed(error: EngineError, as_status: int | None = None) -> Response:
    """The reply when the engine failed before the first token."""
    status, shape = listing.failure(error)
    headers = {}
    if isinstance(error, Overloaded):
        headers["Retry-After"] = str(max(1, math.ceil(error.retry_after or 1)))
    return of(shape, as_status or status, headers)
