"""Django's pages behind ASGI: threads that stay, and one change of thread a request.

Django itself makes a thread for each request and changes between it and the loop at every
middleware; fifty people who send at once then wait for each other's threads.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from io import BytesIO
from itertools import islice
from typing import Any, Final, cast

from asgiref.sync import sync_to_async
from django.conf import settings
from django.core import signals
from django.core.exceptions import RequestAborted, RequestDataTooBig
from django.core.handlers.asgi import ASGIHandler, ASGIRequest
from django.core.handlers.base import BaseHandler
from django.core.handlers.exception import response_for_exception
from django.http import HttpResponse, HttpResponseRedirect
from django.http.response import HttpResponseBase, StreamingHttpResponse
from django.urls import reverse, set_script_prefix
from django.utils import translation

from chat import events
from chat.views import imports

# So many at a time take turns at the one interpreter; more would only take its time with turning.
AT_ONCE: Final = 4
# Whoever has not had a turn by then goes ahead: those before may all be waiting for a database that
# is away, and nobody shall wait for their waiting.
PATIENCE_S: Final = 1.0
THREADS: Final = 64
BLOCKS: Final = 64  # of 4 kB, of a file in one go
CLOSE: Final = {"Connection": "close"}
HEARD_OUT: Final = 8  # times the largest body: half a gigabyte where 64 MB may be brought in


class _Capped:
    """A body up to the largest there is a use for, signed in or not: more fills nobody's disk.

    After that it looks as if the sender had gone, which is how Django puts away what it has read.
    """

    def __init__(self, receive: Callable[[], Awaitable[Any]]) -> None:
        self._receive, self._received, self._has_more = receive, 0, True

    @property
    def is_too_large(self) -> bool:
        """Whether more came than is taken."""
        return self._received > settings.BODY_MAX_BYTES

    async def __call__(self) -> Any:
        """The next part."""
        message = await self._next()
        return {"type": "http.disconnect"} if self.is_too_large else message

    async def hear_out(self) -> None:
        """Let the rest go by, within reason: most browsers read no answer before they have sent.

        Whoever sends far more than a person would by mistake is not heard to the end.
        """
        while self._has_more and self._received <= HEARD_OUT * settings.BODY_MAX_BYTES:
            await self._next()

    async def _next(self) -> Any:
        message = await self._receive()
        self._received += len(message.get("body", b""))
        self._has_more = message.get("more_body", False)
        return message


class Pages(ASGIHandler):
    """All middleware and views are synchronous, and run as such."""

    def __init__(self) -> None:
        BaseHandler.__init__(self)
        self.load_middleware(is_async=False)
        self._threads = ThreadPoolExecutor(THREADS, thread_name_prefix="page")
        self._turns = asyncio.Semaphore(AT_ONCE)

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """One request."""
        if scope["type"] != "http":
            raise ValueError("There are only pages here.")
        capped = _Capped(receive)
        try:
            body = await self.read_body(capped)
        except RequestAborted:
            if capped.is_too_large:
                await capped.hear_out()
                await self.send_response(await self._in_thread(self._too_large, scope), send)
            return
        set_script_prefix(scope.get("root_path", ""))
        events.loop.set(asyncio.get_running_loop())
        try:
            request, response = self.create_request(scope, body)
            if request is not None:
                async with self._turn():
                    response = await self._in_thread(self._respond, request)
            if response is None:
                raise RuntimeError("Django gives a request, or else why there is none.")
            await self.send_response(response, send)
            if response.streaming:
                await self._in_thread(response.close)
        finally:
            body.close()

    async def _in_thread(self, act: Callable[..., Any], *arguments: Any) -> Any:
        run = sync_to_async(act, thread_sensitive=False, executor=self._threads)
        return await run(*arguments)

    @contextlib.asynccontextmanager
    async def _turn(self) -> AsyncIterator[None]:
        try:
            await asyncio.wait_for(self._turns.acquire(), PATIENCE_S)
        except TimeoutError:
            yield
            return
        try:
            yield
        finally:
            self._turns.release()

    def _too_large(self, scope: Any) -> HttpResponseBase:
        """Why the rest was not read. What was read is thrown away, and so is the connection."""
        request, _ = self.create_request(scope, BytesIO())
        if request is None:
            return HttpResponse(status=413, headers=CLOSE)
        if request.path_info == reverse("chat:import"):
            return HttpResponseRedirect(f"{request.path}?{imports.TOO_LARGE}", headers=CLOSE)
        with translation.override(translation.get_language_from_request(request)):
            response = response_for_exception(request, RequestDataTooBig())
        response["Connection"] = "close"
        return response

    def _respond(self, request: ASGIRequest) -> HttpResponseBase:
        """The whole of a request that Django's own handler spreads over several threads."""
        signals.request_started.send(sender=self.__class__, scope=request.scope)
        response = self.get_response(request)
        response._handler_class = self.__class__  # type: ignore[attr-defined] # as Django does
        if not response.streaming:
            response.close()  # this thread's line goes back to the pool
        elif isinstance(response, StreamingHttpResponse) and not response.is_async:
            blocks = cast("Iterator[bytes]", response.streaming_content)
            response.streaming_content = self._read(blocks)
        return response

    async def _read(self, blocks: Iterator[bytes]) -> AsyncIterator[bytes]:
        """A file's blocks, which are read in a thread."""
        while some := await self._in_thread(lambda: b"".join(islice(blocks, BLOCKS))):
            yield some
