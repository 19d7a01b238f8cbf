"""``POST /v1/chat/completions``: one answer or several, streamed or whole.

A failure before the first token is an HTTP status; after it a frame, and the stream ends without
``[DONE]``. A client that goes away cancels its answers.
"""

from __future__ import annotations

import asyncio
import secrets
import time
from collections.abc import AsyncGenerator
from contextlib import aclosing

from starlette.requests import ClientDisconnect
from starlette.requests import Request as HttpRequest
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from engine_adapter.bundled import replies
from engine_adapter.bundled.dialect.asked import Asked, parse
from engine_adapter.bundled.dialect.fields import BadRequest, Json
from engine_adapter.bundled.dialect.told import Stream
from engine_adapter.bundled.dialect.whole import Whole
from engine_adapter.bundled.listening import while_listened_to
from engine_adapter.engine import Engine
from engine_adapter.errors import Broken
from engine_adapter.types import Event, Failed, Finished

KEEP_ALIVE_S = 15.0
WAITING = b": waiting\n\n"
_START = {
    "type": "http.response.start",
    "status": 200,
    "headers": [
        (b"content-type", b"text/event-stream; charset=utf-8"),
        (b"cache-control", b"no-cache"),
        (b"x-accel-buffering", b"no"),
    ],
}
Events = AsyncGenerator[tuple[int, Event], None]


class Chat:
    """The endpoint as a bare ASGI application: it has to hear the client leave while it waits for
    the engine, whatever it has sent by then."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        refusal: Response | None
        try:
            asked = parse(await replies.body(HttpRequest(scope, receive)))
            refusal = await replies.check_model(self._engine, asked.request.model, "text")
        except ClientDisconnect:
            return
        except (BadRequest, replies.TooLarge) as error:
            refusal = replies.unread(error)
        if refusal is not None:
            await refusal(scope, receive, send)
            return
        # Closing its events, which a cancellation does, cancels the answers.
        await while_listened_to(self._answer(asked, scope, receive, send), receive)

    async def _answer(self, asked: Asked, scope: Scope, receive: Receive, send: Send) -> None:
        async with aclosing(_events(self._engine, asked)) as events:
            if asked.stream:
                failure = await _stream(asked, events, _Line(send))
                reply = None if failure is None else replies.failed(failure.error)
            else:
                reply = await _whole(asked, events)
            if reply is not None:
                await reply(scope, receive, send)


async def _events(engine: Engine, asked: Asked) -> Events:
    """The engine's events with the number of their answer. Each answer has a last word.

    Closing this closes the engine's streams.
    """
    streams = [engine.stream(request) for request in asked.requests()]
    if len(streams) == 1:
        last: Event | None = None
        async with aclosing(streams[0]) as stream:
            async for last in stream:
                yield 0, last
        if not isinstance(last, Finished | Failed):
            yield 0, _SPEECHLESS
        return
    told: asyncio.Queue[tuple[int, Event]] = asyncio.Queue()
    pumps = [
        asyncio.ensure_future(_pump(index, stream, told)) for index, stream in enumerate(streams)
    ]
    try:
        while True:
            yield await told.get()
    finally:
        for pump in pumps:
            pump.cancel()
        await asyncio.wait(pumps)


_SPEECHLESS = Failed(Broken("The engine ended without a last word."))


async def _pump(
    index: int, stream: AsyncGenerator[Event, None], told: asyncio.Queue[tuple[int, Event]]
) -> None:
    last: Event | None = None
    try:
        async with aclosing(stream):
            async for last in stream:
                told.put_nowait((index, last))
    finally:
        if not isinstance(last, Finished | Failed):
            told.put_nowait((index, _SPEECHLESS))


def _head(asked: Asked) -> Json:
    return {
        "id": f"chatcmpl-{secrets.token_hex(12)}",
        "created": int(time.time()),
        "model": asked.request.model,
    }


async def _whole(asked: Asked, events: Events) -> Response:
    whole = Whole(asked.choices, logprobs=asked.request.sampling.logprobs is not None)
    async for index, event in events:
        if isinstance(event, Failed):
            return replies.failed(event.error)
        whole.take(index, event)
        if whole.over:
            break
    return replies.of(whole.as_json(_head(asked)))


async def _stream(asked: Asked, events: Events, line: _Line) -> Failed | None:
    """Tell the events as they come. Returns a failure that came before anything was sent."""
    stream = Stream(
        _head(asked),
        choices=asked.choices,
        logprobs=asked.request.sampling.logprobs is not None,
        usage=asked.include_usage,
        progress=asked.return_progress,
    )
    patience = asyncio.ensure_future(line.keep_alive())
    try:
        async for index, event in events:
            if isinstance(event, Failed) and not line.begun:
                return event
            if frames := stream.tell(index, event):
                await line.write(frames, more=not stream.over)
            if stream.over:
                break
    finally:
        patience.cancel()
    return None


class _Line:
    """The way to the client: the reply's head goes out with the first bytes."""

    def __init__(self, send: Send) -> None:
        self.begun = False
        self._send = send
        self._turn = asyncio.Lock()
        self._loop = asyncio.get_running_loop()
        self._wrote_at = self._loop.time()

    async def write(self, data: bytes, *, more: bool = True) -> None:
        """Send; waits while the client does not read."""
        begun, self.begun = self.begun, True
        async with self._turn:
            if not begun:
                await self._send(_START)
            await self._send({"type": "http.response.body", "body": data, "more_body": more})
            self._wrote_at = self._loop.time()

    async def keep_alive(self) -> None:
        """A comment whenever nothing was sent for a while, so that nobody in between hangs up."""
        while True:
            quiet_s = self._loop.time() - self._wrote_at
            if quiet_s >= KEEP_ALIVE_S:
                await self.write(WAITING)
                quiet_s = 0.0
            await asyncio.sleep(KEEP_ALIVE_S - quiet_s)
