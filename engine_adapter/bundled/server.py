"""Any engine behind OpenAI's HTTP dialect: health, metrics, models, embeddings, answers."""

from __future__ import annotations

import json
import time
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from functools import partial

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect
from starlette.requests import Request as HttpRequest
from starlette.responses import Response
from starlette.routing import Route

from engine_adapter.arriving import Inspector
from engine_adapter.bundled import replies
from engine_adapter.bundled.chat import Chat
from engine_adapter.bundled.dialect import listing
from engine_adapter.bundled.dialect.asked import parse_embeddings
from engine_adapter.bundled.dialect.fields import BadRequest, Json
from engine_adapter.bundled.listening import while_listened_to
from engine_adapter.bundled.metrics import CONTENT_TYPE
from engine_adapter.engine import Embedder, Engine, Loader, Metered, Pinner
from engine_adapter.errors import EngineError, Refused
from engine_adapter.reasons import why

_UNREAD = Response(status_code=400)  # nobody is there to read it
Lifespan = Callable[[Starlette], AbstractAsyncContextManager[None]]


def create_app(engine: Engine, lifespan: Lifespan | None = None) -> Starlette:
    """The ASGI application that serves ``engine``. It opens and closes nothing by itself."""
    app = Starlette(
        routes=[
            Route("/health", _health),
            Route("/metrics", _metrics),
            Route("/v1/models", _models),
            Route("/models/load", _load, methods=["POST"]),
            Route("/models/unload", _unload, methods=["POST"]),
            Route("/models/pin", _pin, methods=["POST"]),
            Route("/models/unpin", _unpin, methods=["POST"]),
            Route("/models/inspect", _inspect, methods=["POST"]),
            Route("/v1/embeddings", _embeddings, methods=["POST"]),
            Route("/v1/chat/completions", Chat(engine), methods=["POST"]),
        ],
        exception_handlers={HTTPException: _unknown_path},
        lifespan=lifespan,
    )
    app.state.engine = engine
    app.state.created = int(time.time())
    return app


async def _health(request: HttpRequest) -> Response:
    try:
        await request.app.state.engine.health()
    except EngineError as error:
        body = listing.error(str(error), "unavailable_error", error.code)
        return replies.of(body, 503)
    return replies.of({"status": "ok"})


async def _metrics(request: HttpRequest) -> Response:
    engine = request.app.state.engine
    if not isinstance(engine, Metered):
        raise HTTPException(404)
    return Response(engine.metrics(), media_type=CONTENT_TYPE)


async def _models(request: HttpRequest) -> Response:
    try:
        cards = await request.app.state.engine.models()
    except EngineError as error:
        return replies.failed(error)
    data = [listing.model(card, request.app.state.created) for card in cards]
    return replies.of({"object": "list", "data": data})


async def _load(request: HttpRequest) -> Response:
    engine = request.app.state.engine
    return await _moved(request, engine.load_model if isinstance(engine, Loader) else None)


async def _unload(request: HttpRequest) -> Response:
    engine = request.app.state.engine
    return await _moved(request, engine.unload_model if isinstance(engine, Loader) else None)


async def _pin(request: HttpRequest) -> Response:
    engine = request.app.state.engine
    move = partial(engine.pin_model, pinned=True) if isinstance(engine, Pinner) else None
    return await _moved(request, move, "pins_nothing")


async def _unpin(request: HttpRequest) -> Response:
    engine = request.app.state.engine
    move = partial(engine.pin_model, pinned=False) if isinstance(engine, Pinner) else None
    return await _moved(request, move, "pins_nothing")


async def _moved(
    request: HttpRequest,
    move: Callable[[str], Awaitable[None]] | None,
    without: str = "loads_nothing",
) -> Response:
    """As llama.cpp's router answers: the paths, the field and the reply are its."""
    if move is None:
        return replies.failed(Refused(why(without)), 501)

    async def act(model: str) -> Json:
        await move(model)
        return {"success": True}

    return await _named(request, ("model",), act)


async def _inspect(request: HttpRequest) -> Response:
    engine = request.app.state.engine
    if not isinstance(engine, Inspector):
        return replies.refused(501, "This engine looks into no files.", "not_implemented")

    async def act(file: str, name: str) -> Json:
        return (await engine.inspect(file, name)).as_json()

    return await _named(request, ("file", "name"), act)


async def _named(
    request: HttpRequest, names: tuple[str, ...], act: Callable[..., Awaitable[Json]]
) -> Response:
    """The reply to a body with a text under each of ``names``."""
    try:
        told = json.loads(await replies.body(request))
        texts = [told[name] if isinstance(told, dict) else None for name in names]
        if not all(isinstance(text, str) for text in texts):
            raise ValueError
    except ClientDisconnect:
        return _UNREAD
    except replies.TooLarge as error:
        return replies.unread(error)
    except (KeyError, ValueError, RecursionError):
        wanted = " and ".join(f"'{name}'" for name in names)
        text = f"The body must be a JSON object with {wanted}, as text."
        return replies.unread(BadRequest(text, names[0]))
    try:
        return replies.of(await act(*texts))
    except EngineError as error:
        return replies.failed(error)


async def _embeddings(request: HttpRequest) -> Response:
    engine = request.app.state.engine
    if not isinstance(engine, Embedder):
        return replies.refused(501, "This engine makes no embeddings.", "not_implemented")
    try:
        asked = parse_embeddings(await replies.body(request))
    except ClientDisconnect:
        return _UNREAD
    except (BadRequest, replies.TooLarge) as error:
        return replies.unread(error)
    if refusal := await replies.check_model(request.app.state.engine, asked.model, "embeddings"):
        return refusal
    embedding = engine.embed(asked.model, asked.texts)
    try:
        made = await while_listened_to(embedding, request.receive)
    except EngineError as error:
        return replies.failed(error)
    if made is None:
        return _UNREAD
    return replies.of(listing.embeddings(asked.model, made, as_base64=asked.base64))


async def _unknown_path(_: HttpRequest, error: Exception) -> Response:
    status = error.status_code if isinstance(error, HTTPException) else 500
    headers = dict(error.headers or {}) if isinstance(error, HTTPException) else None
    text = "The method is not allowed here." if status == 405 else "Nothing is served here."
    return replies.refused(status, text, "not_found", headers=headers)
