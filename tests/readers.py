"""A page that is open: its socket, and what its reader sees after each frame."""

from __future__ import annotations

import re
from html import unescape
from html.parser import HTMLParser
from types import TracebackType
from typing import Self

from asgiref.testing import ApplicationCommunicator

from accounts.models import User
from chat.models import Conversation, Message
from tests.people import session_of
from tests.scripts import in_database

ORIGIN = "http://testserver"
PATIENCE_S = 20
Part = tuple[dict[str, str], str]


class Page:
    """A page with a socket. ``frames`` is what came, ``closed`` the code of the end."""

    def __init__(
        self,
        user: User | None,
        conversation: Conversation | None = None,
        *,
        path: str | None = None,
        origin: str | None = ORIGIN,
        cookie: str | None = None,
        **headers: str,
    ) -> None:
        self.user, self.cookie = user, cookie
        self.path = path or (f"/ws/conversations/{conversation.pk}/" if conversation else "/ws/")
        self.headers = {"host": "testserver", **headers} | ({"origin": origin} if origin else {})
        self.frames: list[str] = []
        self.closed: int | None = None
        self._blocks: dict[str, str] = {}
        self._counts: dict[str, str] = {}
        self._open: dict[str, str] = {}
        self._articles: dict[str, str] = {}

    async def open(self) -> bool:
        """Knock. Whether the door opened."""
        from deploy.asgi import application  # the static files must be gathered before

        if self.user is not None:
            session = await in_database(session_of)(self.user)
            self.cookie = f"sessionid={session.session_key}"
        headers = self.headers | ({"cookie": self.cookie} if self.cookie else {})
        raw = [(name.replace("_", "-").encode(), value.encode()) for name, value in headers.items()]
        path, _, query = self.path.partition("?")
        scope = {"type": "websocket", "path": path, "query_string": query.encode(), "headers": raw}
        self._socket = ApplicationCommunicator(application, {**scope, "subprotocols": []})
        await self._socket.send_input({"type": "websocket.connect"})
        reply = await self._socket.receive_output(PATIENCE_S)
        return reply["type"] == "websocket.accept"

    async def __aenter__(self) -> Self:
        assert await self.open()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: object, trace: TracebackType | None
    ) -> None:
        await self.leave()

    def accept(self, answer: Message) -> None:
        """The page has the empty answer, as the reply to its post brings it."""
        name = f"m-{answer.pk}"
        self._articles[name] = "queued"
        self._counts[name], self._blocks[name], self._open[name] = "0", "", ""

    async def leave(self) -> None:
        """Close the page."""
        await self._socket.send_input({"type": "websocket.disconnect", "code": 1001})
        await self._socket.wait(PATIENCE_S)

    async def say(self, **what: str | bytes) -> None:
        """Send what no page of ours sends: ``text`` or ``bytes``."""
        await self._socket.send_input({"type": "websocket.receive", **what})

    async def frame(self) -> str | None:
        """The next frame, already on the page; ``None`` when the socket was closed."""
        message = await self._socket.receive_output(PATIENCE_S)
        if message["type"] == "websocket.close":
            self.closed = message.get("code")
            return None
        self._show(message["text"])
        return message["text"]

    async def quiet(self) -> bool:
        """Whether nothing comes for a moment."""
        return await self._socket.receive_nothing(0.3)

    async def see(self, answer: Message, *, state: str | None = None, text: str = "") -> str:
        """Read on until the answer is in ``state`` or shows ``text``; its HTML."""
        while self.state(answer) != state if state else text not in self.html(answer):
            assert await self.frame() is not None
        return self.html(answer)

    def state(self, answer: Message) -> str:
        """How the answer stands, as its article says."""
        return self._articles.get(f"m-{answer.pk}", "")

    def html(self, answer: Message) -> str:
        """The text of the answer as it stands on the page."""
        return self._blocks.get(f"m-{answer.pk}", "") + self._open.get(f"m-{answer.pk}", "")

    def _show(self, frame: str) -> None:
        self.frames.append(frame)
        parts = elements(frame)
        for name, (attributes, _) in parts.items():
            if attributes.get("class") == "answer":
                self._articles[name] = attributes["data-state"]
                self._put(name, parts, fresh=True)
            elif "data-from" in attributes:
                self._put(name.removesuffix("-blocks"), parts, fresh=False)

    def _put(self, name: str, parts: dict[str, Part], *, fresh: bool) -> None:
        attributes, blocks = parts[f"{name}-blocks"]
        if not fresh:
            assert attributes["data-from"] == self._counts[name], "growth that does not fit"
            blocks = self._blocks[name] + blocks
        self._counts[name] = attributes.get("data-blocks", "")
        self._blocks[name] = blocks
        attributes, text = parts.get(f"{name}-open", ({}, ""))
        if "data-keep" in attributes:
            kept = self._open[name].encode("utf-16-le")[: 2 * int(attributes["data-keep"])]
            text = kept.decode("utf-16-le") + unescape(text)
        self._open[name] = text


def elements(html: str) -> dict[str, Part]:
    """Attributes and inner HTML of everything that has an id."""
    reader = _Reader(html)
    reader.close()
    return reader.found


class _Reader(HTMLParser):
    def __init__(self, html: str) -> None:
        super().__init__(convert_charrefs=False)
        self.found: dict[str, Part] = {}
        self._lines = [0, *(m.end() for m in re.finditer("\n", html))]
        self._open: list[tuple[str, dict[str, str], int]] = []
        self._html = html
        self.feed(html)

    def _at(self) -> int:
        line, column = self.getpos()
        return self._lines[line - 1] + column

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in {"br", "hr", "img", "input", "link", "meta"}:
            begin = self._at() + len(self.get_starttag_text() or "")
            self._open.append((tag, {name: value or "" for name, value in attrs}, begin))

    def handle_endtag(self, tag: str) -> None:
        while self._open:
            name, attributes, begin = self._open.pop()
            if "id" in attributes:
                self.found[attributes["id"]] = attributes, self._html[begin : self._at()]
            if name == tag:
                return
