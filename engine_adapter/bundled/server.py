"""Any engine behind OpenAI's HTTP dialect: health, models, chat completions.

A failure before the first token is an HTTP status; after it a frame, and the stream ends without
``[DONE]``. A client that goes away cancels its answer.
"""

from __future__ import annotations

import asyncio
import json
import math
import secrets
import time
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, aclosing, suppress

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect
from starlette.requests import Request as HttpRequest
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from engine_adapter.bundled import dialect
from engine_adapter.bundled.dialect import Answer, Asked, BadRequest, Json
from engine_adapter.engine import Engine
from engine_adapter.errors import Broken, EngineError, Overloaded
from engine_adapter.types import Event, Failed, Finished, Progress, Reasoning, Text

LARGEST_BODY = 8 << 20  # bytes; a long conversation of many books has some 2 MiB
KEEP_ALIVE_S = 15.0
Lifespan = Callable[[Starlette], AbstractAsyncContextManager[None]]


def create_app(engine: Engine, lifespan: Lifespan | None = None) -> Starlette:
    """The ASGI application that serves ``engine``. It opens and closes nothing by itself."""
    app = Starlette(
        routes=[
            Route("/health", _health),
            Route("/v1/models", _models),
            Route("/v1/chat/completions", _Chat(engine), methods=["POST"]),
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
        body = dialect.error(str(error), "unavailable_error", error.code)
        return JSONResponse(body, status_code=503)
    return JSONResponse({"status": "ok"})


async def _models(request: HttpRequest) -> Response:
    try:
        cards = await request.app.state.engine.models()
    except EngineError as error:
        return _failure(error)
    data = [dialect.model(card, request.app.state.created) for card in cards]
    return JSONResponse({"object": "list", "data": data})


async def _unknown_path(_: HttpRequest, error: Exception) -> Response:
    status = error.status_code if isinstance(error, HTTPException) else 500
    headers = error.headers if isinstance(error, HTTPException) else None
    text = "The method is not allowed here." if status == 405 else "Nothing is served here."
    body = dialect.error(text, "invalid_request_error", "not_found")
    return JSONResponse(body, status_code=status, headers=headers)


def _failure(error: EngineError) -> Response:
    status, body = dialect.failure(error)
    headers = {}
    if isinstance(error, Overloaded):
        headers["Retry-After"] = str(max(1, math.ceil(error.retry_after or 1)))
    return JSONResponse(body, status_code=status, headers=headers)


class _Chat:
    """``POST /v1/chat/completions`` as a bare ASGI application: it has to hear the client leave
    while it waits for the engine, whatever it has sent by then."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        http = HttpRequest(scope, receive)
        try:
            asked = dialect.parse(await _body(http))
            if (refusal := await self._refusal(asked.request.model)) is not None:
                await refusal(scope, receive, send)
                return
        except ClientDisconnect:
            return
        except BadRequest as error:
            bad = dialect.error(str(error), "invalid_request_error", "bad_request", error.param)
            await JSONResponse(bad, status_code=400)(scope, receive, send)
            return
        except _TooLarge:
            large = dialect.error(
                f"The body is larger than {LARGEST_BODY} bytes.",
                "invalid_request_error",
                "body_too_large",
            )
            headers = {"Connection": "close"}
            await JSONResponse(large, status_code=413, headers=headers)(scope, receive, send)
            return
        answer = asyncio.ensure_future(self._answer(asked, scope, receive, send))
        gone = asyncio.ensure_future(_until_gone(receive))
        try:
            await asyncio.wait({answer, gone}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            gone.cancel()
            answer.cancel()  # nothing where it is done; its events are closed, which cancels
            await asyncio.wait({answer, gone})
        if not answer.cancelled():
            answer.result()  # raises what went wrong, for the log

    async def _refusal(self, name: str) -> Response | None:
        try:
            if any(card.name == name for card in await self._engine.models()):
                return None
        except EngineError as error:
            return _failure(error)
        text = f"There is no model named '{name}'."[:300]
        body = dialect.error(text, "invalid_request_error", "model_not_found", "model")
        return JSONResponse(body, status_code=404)

    async def _answer(self, asked: Asked, scope: Scope, receive: Receive, send: Send) -> None:
        async with aclosing(_events(self._engine, asked)) as events:
            if not asked.stream:
                await (await _whole(asked, events))(scope, receive, send)
                return
            first = await _first(asked, events)
            if isinstance(first, Failed):
                await _failure(first.error)(scope, receive, send)
                return
            await send(_START)
            frames = _frames(asked, first, events)
            async for data in frames:
                await send({"type": "http.response.body", "body": data, "more_body": True})
            await send({"type": "http.response.body", "body": b""})


_START = {
    "type": "http.response.start",
    "status": 200,
    "headers": [
        (b"content-type", b"text/event-stream; charset=utf-8"),
        (b"cache-control", b"no-cache"),
        (b"x-accel-buffering", b"no"),
    ],
}


class _TooLarge(Exception):
    """The body passes the cap."""


async def _body(http: HttpRequest) -> bytes:
    """The whole body. Raises ``_TooLarge`` without reading on."""
    length = http.headers.get("content-length", "")
    if length.isdecimal() and int(length[:20]) > LARGEST_BODY:
        raise _TooLarge
    chunks = bytearray()
    async for chunk in http.stream():
        chunks += chunk
        if len(chunks) > LARGEST_BODY:
            raise _TooLarge
    return bytes(chunks)


async def _until_gone(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


async def _events(engine: Engine, asked: Asked) -> AsyncGenerator[Event | None, None]:
    """The engine's events, and None whenever nothing came for a while.

    Closing this closes the engine's stream.
    """
    stream = engine.stream(asked.request)
    coming: asyncio.Future[Event] | None = None
    try:
        while True:
            coming = asyncio.ensure_future(anext(stream))
            while not (await asyncio.wait({coming}, timeout=KEEP_ALIVE_S))[0]:
                yield None
            try:
                event = coming.result()
            except StopAsyncIteration:
                event = Failed(Broken("The engine ended without a last word."))
            yield event
            if isinstance(event, Finished | Failed):
                return
    finally:
        if coming is not None and not coming.done():
            coming.cancel()
            with suppress(asyncio.CancelledError, StopAsyncIteration):
                await coming
        if isinstance(stream, AsyncGenerator):
            await stream.aclose()


def _new_answer(asked: Asked) -> Answer:
    return Answer(f"chatcmpl-{secrets.token_hex(12)}", int(time.time()), asked.request.model)


async def _whole(asked: Asked, events: AsyncIterator[Event | None]) -> Response:
    text: list[str] = []
    reasoning: list[str] = []
    async for event in events:
        match event:
            case Text(piece):
                text.append(piece)
            case Reasoning(piece):
                reasoning.append(piece)
            case Failed(error):
                return _failure(error)
            case Finished():
                reply = _new_answer(asked).whole("".join(text), "".join(reasoning), event)
                return JSONResponse(reply)
    return _failure(Broken("The engine ended without a last word."))


async def _first(asked: Asked, events: AsyncIterator[Event | None]) -> Event | None:
    """The first event that the client is told of; None where only patience is asked for."""
    async for event in events:
        if not isinstance(event, Progress) or asked.return_progress:
            return event
    return Failed(Broken("The engine ended without a last word."))


async def _frames(
    asked: Asked, first: Event | None, events: AsyncIterator[Event | None]
) -> AsyncIterator[bytes]:
    """The stream from its first event on, as bytes."""
    answer = _new_answer(asked)
    opened = False
    event: Event | None = first
    while True:
        if not opened and isinstance(event, Text | Reasoning | Finished):
            opened = True
            yield _sse(answer.delta({"role": "assistant", "content": ""}))
        match event:
            case None:
                yield b": waiting\n\n"
            case Text(piece):
                yield _sse(answer.delta({"content": piece}))
            case Reasoning(piece):
                yield _sse(answer.delta({"reasoning_content": piece}))
            case Progress(ahead, computed, total) if asked.return_progress:
                progress = {"ahead": ahead, "computed": computed, "total": total}
                yield _sse(answer.frame([], progress=progress))
            case Failed(error):
                yield _sse(dialect.failure(error)[1])
                return
            case Finished():
                yield _sse(answer.delta({}, event))
                if asked.include_usage and event.usage is not None:
                    yield _sse(answer.frame([], usage=dialect.usage(event.usage)))
                yield b"data: [DONE]\n\n"
                return
        event = await anext(events)


def _sse(value: Json) -> bytes:
    return (
        b"data: " + json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode() + b"\n\n"
    )
