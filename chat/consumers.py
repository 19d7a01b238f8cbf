"""News for one open page. Carries fragments down; takes no commands up.

A reader is woken, looks at what changed since its last frame, and sends that. There is no queue:
a slow reader skips the frames in between and loses nothing.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from typing import Any, Final
from urllib.parse import urlsplit
from uuid import UUID

from channels.db import database_sync_to_async
from channels.generic.websocket import AsyncWebsocketConsumer
from django.conf import settings
from django.contrib.auth import SESSION_KEY
from django.db import Error as DatabaseError
from django.http import Http404, HttpRequest
from django.template.loader import render_to_string
from django.utils import translation

from accounts.models import User
from chat.domain import access, answers
from chat.live import Hub, hub
from chat.live.seen import Seen
from chat.models import Conversation

log = logging.getLogger(__name__)

PULSE_S: Final = 20.0  # a sign of life for pages that hear nothing else
STUCK_S: Final = 20.0  # a reader that takes nothing for so long is sent away
SIGNED_OUT: Final = 4401
COME_AGAIN: Final = 1013


class Socket(AsyncWebsocketConsumer):
    """The socket of a page of a signed-in person. A ``Reader`` of the hub."""

    conversation_id: str | None = None

    async def connect(self) -> None:
        """Same origin, signed in, allowed to see what is asked for; else the door stays shut."""
        self._tasks: list[asyncio.Task[None]] = []
        self._wake = asyncio.Event()
        self._hub: Hub | None = None
        if not self._same_origin():
            await self.close()
            return
        try:
            await database_sync_to_async(self._identify)()
        except (Http404, DatabaseError):
            await self.close()
            return
        await self.accept()
        self._sent_at = time.monotonic()
        self._sending = False
        # Join first, look then: what begins between the two is heard of.
        self._hub = hub()
        self._hub.join(self)
        await self._look()
        self._start(self._send_for_ever())

    async def disconnect(self, code: int) -> None:
        """The page is gone."""
        self._fall_silent()

    def _fall_silent(self) -> None:
        if self._hub is None:
            return
        self._hub.leave(self)
        for task in self._tasks:
            if task is not asyncio.current_task():
                task.cancel()

    async def _hang_up(self, code: int) -> None:
        """Not a word more, not even until the browser has hung up."""
        self._fall_silent()
        await self.close(code=code)

    def _same_origin(self) -> bool:
        """The exact origin of the page itself; a missing one is refused."""
        headers = dict(self.scope["headers"])
        try:
            origin = urlsplit(headers.get(b"origin", b"").decode("latin-1"))
        except ValueError:
            return False
        host = headers.get(b"host", b"").decode("latin-1")
        scheme = "https" if settings.HTTPS else "http"
        return bool(host) and origin.netloc == host and origin.scheme in {scheme, "https"}

    def _identify(self) -> None:
        """Who reads. Raises ``Http404`` where the door stays shut."""
        session = self.scope["session"]
        user_id = session.get(SESSION_KEY)
        user = User.objects.filter(pk=user_id, is_active=True).first() if user_id else None
        if user is None:
            raise Http404
        self._user = user
        self.user_id, self.session_key = str(user.pk), session.session_key
        self._language = user.language or self._language_of_request()

    def _language_of_request(self) -> str:
        """The language the page itself was written in: cookie, then Accept-Language."""
        request = HttpRequest()
        request.COOKIES = self.scope["cookies"]
        accepted = dict(self.scope["headers"]).get(b"accept-language", b"")
        request.META["HTTP_ACCEPT_LANGUAGE"] = accepted.decode("latin-1")
        return translation.get_language_from_request(request)

    async def _look(self) -> None:
        """What there is to tell already."""

    async def _tell(self) -> None:
        """Send what changed since the last time."""

    # What the hub calls: never waits

    def hear(self, item: dict[str, Any]) -> None:
        """News about this person."""
        if item["kind"] == "sessions_ended":
            if item["session_keys"] is None or self.session_key in item["session_keys"]:
                self.sign_out()
        elif item["kind"] == "titled":
            self._start(self._send_title(item["conversation"]))

    def sign_out(self) -> None:
        """The session ended."""
        self._start(self._hang_up(SIGNED_OUT))

    def look_after(self) -> None:
        """Send away a reader that takes nothing: its page comes again and misses nothing."""
        quiet_s = time.monotonic() - self._sent_at
        if self._sending and quiet_s > STUCK_S:
            self._start(self._hang_up(COME_AGAIN))
        elif not self._sending and quiet_s > PULSE_S:
            self._start(self._send(" "))

    def _start(self, coroutine: Any) -> asyncio.Task[None]:
        task: asyncio.Task[None] = asyncio.ensure_future(coroutine)
        self._tasks.append(task)
        task.add_done_callback(self._over)
        return task

    def _over(self, task: asyncio.Task[None]) -> None:
        """A server refuses what is sent to a page that has hung up with an ``OSError`` (ASGI), and
        calls ``disconnect`` a moment later: nobody is left to be told."""
        self._tasks.remove(task)
        error = None if task.cancelled() else task.exception()
        if error and not isinstance(error, OSError):
            log.error("a page is told nothing more", exc_info=error)

    # Frames out

    async def _send(self, frame: str) -> None:
        self._sending, self._sent_at = True, time.monotonic()
        await self.send(text_data=frame)
        self._sending = False

    async def _send_for_ever(self) -> None:
        while True:
            await self._wake.wait()
            self._wake.clear()
            await self._tell()

    async def _send_title(self, conversation_id: str) -> None:
        with contextlib.suppress(Http404, DatabaseError):
            found = await database_sync_to_async(access.conversation_for)(
                self._user, UUID(conversation_id)
            )
            context = {"conversation": found, "shown": self.conversation_id == conversation_id}
            with translation.override(self._language):
                frame = render_to_string("chat/_title_frame.html", {**context, "frame": True})
            await self._send(frame)


class PageConsumer(Socket):
    """The socket of a page with or without a conversation on it; its answers go on without it."""

    async def connect(self) -> None:
        """See ``Socket``."""
        self._following: dict[str, Seen] = {}
        await super().connect()

    def _fall_silent(self) -> None:
        super()._fall_silent()
        for seen in self._following.values():
            if self._hub is not None:
                self._hub.unfollow(seen.answer, self._wake.set)
        self._following.clear()

    def _identify(self) -> None:
        """Who reads, and what. Raises ``Http404`` where the door stays shut."""
        super()._identify()
        self._conversation: Conversation | None = None
        conversation_id = self.scope["url_route"]["kwargs"].get("conversation_id")
        if conversation_id is not None:
            self._conversation = access.conversation_for(self._user, conversation_id)
            self.conversation_id = str(self._conversation.pk)

    async def _look(self) -> None:
        """Follow the answers of the shown conversation that are being written."""
        with contextlib.suppress(DatabaseError):
            if self._conversation is not None:
                for answer_id in await database_sync_to_async(answers.running)(self._conversation):
                    self._follow(answer_id)

    def hear(self, item: dict[str, Any]) -> None:
        """News about this person or this conversation."""
        if item["kind"] in {"sessions_ended", "titled"}:
            super().hear(item)
        elif item["kind"] != "ended":
            # An answer that began elsewhere (another tab, a retry) is followed here too.
            self._follow(item["answer"], run=item["generation"] if item["kind"] == "asked" else "")

    def _follow(self, answer_id: str, *, run: str = "") -> None:
        if self._hub is not None and answer_id not in self._following:
            answer = self._hub.follow(answer_id, self._wake.set, run=run)
            self._following[answer_id] = Seen(answer)

    async def _tell(self) -> None:
        for answer_id, seen in list(self._following.items()):
            frame = seen.next_frame(self._language)
            if seen.is_over:
                self._unfollow(answer_id)
            if frame:
                await self._send(frame)

    def _unfollow(self, answer_id: str) -> None:
        seen = self._following.pop(answer_id, None)
        if seen and self._hub:
            self._hub.unfollow(seen.answer, self._wake.set)
