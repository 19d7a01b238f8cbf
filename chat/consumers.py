"""News for one open page. Carries fragments down; takes no commands up.

A reader is woken, looks at what changed since its last frame, and sends that. There is no queue:
a slow reader skips the frames in between and loses nothing.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
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
from django.utils import timezone, translation

from accounts.models import Session, User
from chat.domain import access, answers
from chat.live import Answer, Hub, hub
from chat.models import Conversation

log = logging.getLogger(__name__)

SESSION_CHECK_S: Final = 4.0
TICK_S: Final = 0.05
SIGNED_OUT: Final = 4401


class PageConsumer(AsyncWebsocketConsumer):
    """The socket of a page, with or without a conversation on it."""

    async def connect(self) -> None:
        """Same origin, signed in, and allowed to see the conversation; else the door stays shut."""
        self._tasks: list[asyncio.Task[None]] = []
        self._following: dict[str, tuple[Answer, int, int, str]] = {}
        self._joining: set[str] = set()
        self._wake = asyncio.Event()
        self._hub: Hub | None = None
        if not self._same_origin():
            await self.close()
            return
        self._session_key = self.scope["session"].session_key
        conversation_id = self.scope["url_route"]["kwargs"].get("conversation_id")
        try:
            self._user = await database_sync_to_async(self._signed_in)()
            self._conversation = await database_sync_to_async(self._shown)(conversation_id)
        except (Http404, DatabaseError):
            await self.close()
            return
        await self.accept()
        self._language = self._user.language or self._language_of_request()
        # Join first, look then: an answer that begins between the two is heard of.
        self._hub = hub()
        self._hub.listeners.add(self._on_news)
        with contextlib.suppress(DatabaseError):
            for answer_id in await database_sync_to_async(self._running)():
                await self._follow(answer_id)
        self._tasks += [
            asyncio.create_task(self._send_for_ever()),
            asyncio.create_task(self._watch_session()),
        ]

    async def disconnect(self, code: int) -> None:
        """The page is gone; the answer goes on without it."""
        self._fall_silent()

    def _fall_silent(self) -> None:
        if self._hub is None:
            return
        self._hub.listeners.discard(self._on_news)
        for answer, *_ in self._following.values():
            self._hub.leave(answer, self._wake.set)
        self._following.clear()
        for task in self._tasks:
            if task is not asyncio.current_task():
                task.cancel()

    async def _sign_out(self) -> None:
        """The session ended: not a word more, not even until the browser has hung up."""
        self._fall_silent()
        await self.close(code=SIGNED_OUT)

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

    def _signed_in(self) -> User:
        user_id = self.scope["session"].get(SESSION_KEY)
        user = User.objects.filter(pk=user_id, is_active=True).first() if user_id else None
        if user is None:
            raise Http404
        return user

    def _shown(self, conversation_id: UUID | None) -> Conversation | None:
        """The conversation on the page, if there is one and this person may see it."""
        if conversation_id is None:
            return None
        return access.conversation_for(self._user, conversation_id)

    def _running(self) -> list[str]:
        """The answers of the shown conversation that are being written."""
        return answers.running(self._conversation) if self._conversation else []

    def _language_of_request(self) -> str:
        """The language the page itself was written in: cookie, then Accept-Language."""
        request = HttpRequest()
        request.COOKIES = self.scope["cookies"]
        accepted = dict(self.scope["headers"]).get(b"accept-language", b"")
        request.META["HTTP_ACCEPT_LANGUAGE"] = accepted.decode("latin-1")
        return translation.get_language_from_request(request)

    # News in

    def _on_news(self, item: dict[str, Any]) -> None:
        """Called by the hub, never waits."""
        if item["kind"] == "sessions_ended" and item["owner"] == str(self._user.pk):
            keys = item["session_keys"]
            if keys is None or self._session_key in keys:
                self._start(self._sign_out())
        elif item["kind"] == "titled" and item["owner"] == str(self._user.pk):
            self._start(self._send_title(item["conversation"]))
        elif self._begins_here(item):
            self._start(self._follow(item["answer"]))

    def _start(self, coroutine: Any) -> None:
        task = asyncio.ensure_future(coroutine)
        self._tasks.append(task)
        task.add_done_callback(self._tasks.remove)

    def _begins_here(self, item: dict[str, Any]) -> bool:
        """An answer that began elsewhere (another tab, a retry) is followed here too."""
        about_answer = item["kind"] in {"grew", "changed"}
        return (
            about_answer
            and item["answer"] not in self._following
            and self._shows(item["conversation"])
        )

    def _shows(self, conversation_id: str) -> bool:
        return self._conversation is not None and str(self._conversation.pk) == conversation_id

    async def _follow(self, answer_id: str) -> None:
        if answer_id in self._following or answer_id in self._joining:
            return
        self._joining.add(answer_id)
        try:
            answer = await hub().follow(answer_id, self._wake.set)
        finally:
            self._joining.discard(answer_id)
        self._following[answer_id] = (answer, -1, 0, "")
        self._wake.set()

    # Frames out

    async def _send_for_ever(self) -> None:
        while True:
            await self._wake.wait()
            self._wake.clear()
            for answer_id, (answer, version, blocks, state) in list(self._following.items()):
                if answer.version != version:
                    await self._send_answer(answer_id, answer, version, blocks, state)
            await asyncio.sleep(TICK_S / 2)

    async def _send_answer(
        self, answer_id: str, answer: Answer, version: int, blocks: int, state: str
    ) -> None:
        reading = answer.reading
        if answer.version == 0:
            return  # not read yet: the database was away when the reader came
        if reading is None or reading.generation is None:
            hub().leave(answer, self._wake.set)
            del self._following[answer_id]
            return
        now, text = answer.version, answer.text
        began = f"{reading.generation.pk} {reading.generation.state} {reading.has_text}"
        if version == -1 or began != state or blocks > len(text.blocks):
            active = reading if reading.is_active else None
            frame = self._render("chat/_answer_frame.html", reading=reading, active=active)
        else:
            frame = self._render(
                "chat/_growth_frame.html",
                message=reading.message,
                since=blocks,
                upto=len(text.blocks),
                blocks=text.blocks[blocks:],
                open=text.open,
            )
        self._following[answer_id] = (answer, now, len(text.blocks), began)
        await self.send(text_data=frame)
        if not reading.is_active:
            hub().leave(answer, self._wake.set)
            del self._following[answer_id]

    async def _send_title(self, conversation_id: str) -> None:
        with contextlib.suppress(Http404, DatabaseError):
            found = await database_sync_to_async(access.conversation_for)(
                self._user, UUID(conversation_id)
            )
            shown = self._shows(conversation_id)
            frame = self._render("chat/_title_frame.html", conversation=found, shown=shown)
            await self.send(text_data=frame)

    def _render(self, template: str, **context: Any) -> str:
        with translation.override(self._language):
            return render_to_string(template, {**context, "frame": True})

    async def _watch_session(self) -> None:
        """A session that ended without a word closes the socket all the same (TRUST.md: ≤ 5 s)."""
        while True:
            await asyncio.sleep(SESSION_CHECK_S)
            with contextlib.suppress(DatabaseError):
                if not await database_sync_to_async(self._session_lives)():
                    await self._sign_out()
                    return

    def _session_lives(self) -> bool:
        return Session.objects.filter(
            pk=self._session_key, user__is_active=True, expire_date__gt=timezone.now()
        ).exists()
