"""Django's pages behind ASGI: threads that stay, and one change of thread a request.

Django itself makes a thread for each request and changes between it and the loop at every
middleware; fifty people who send at once then wait for each other's threads.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final

from asgiref.sync import sync_to_async
from django.core.handlers.asgi import ASGIHandler
from django.core.handlers.base import BaseHandler
from django.db import close_old_connections
from django.http import HttpRequest
from django.http.response import HttpResponseBase

# The pool of connections (KONAK_DATABASE_POOL) lets a few at a time do their work. The rest wait
# for one, and while the database is away all of them do, for its five seconds.
THREADS: Final = 40


class Pages(ASGIHandler):
    """All middleware and views are synchronous, and run as such."""

    def __init__(self) -> None:
        BaseHandler.__init__(self)
        self.load_middleware(is_async=False)
        self._threads = ThreadPoolExecutor(THREADS, thread_name_prefix="page")

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """One request."""
        if scope["type"] != "http":
            raise ValueError("There are only pages here.")
        await self.handle(scope, receive, send)

    async def get_response_async(self, request: HttpRequest) -> HttpResponseBase:
        """The response, made in one of the threads."""
        respond = sync_to_async(self._respond, thread_sensitive=False, executor=self._threads)
        return await respond(request)

    def _respond(self, request: HttpRequest) -> HttpResponseBase:
        try:
            return self.get_response(request)
        finally:
            close_old_connections()  # this thread's line goes back to the pool
