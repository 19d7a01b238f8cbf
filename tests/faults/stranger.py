"""Somebody of another ward and somebody not signed in: try every door during the whole lap."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Callable, Sequence

from websockets.exceptions import WebSocketException

from tests.faults.browser import Browser, Reply
from tests.faults.record import Log, Look
from tests.faults.tab import Tab

_PAUSE_S = 0.5


class Stranger:
    """Knows the addresses and is entitled to none of them."""

    def __init__(self, browser: Browser, log: Log, chance: random.Random) -> None:
        self._browser, self._log, self._chance = browser, log, chance
        self._who = "a stranger" if browser.session else "somebody not signed in"

    async def prowl(self, pages: Callable[[], Sequence[Tab]]) -> None:
        """Try one door after the other until cancelled. ``pages`` are those of others just now."""
        while True:
            await asyncio.sleep(_PAUSE_S)
            if not (tabs := pages()):
                continue
            tab = self._chance.choice(tabs)
            await self._knock(tab.path, "GET")
            for answer in tab.answers()[-1:]:
                await self._knock(f"/answers/{answer}/", "GET")
                await self._knock(f"/answers/{answer}/stop/", "POST")
            await self._listen(f"/ws{tab.path}")

    async def _knock(self, path: str, method: str) -> None:
        ask = self._browser.get if method == "GET" else self._browser.post
        self._note(f"{method} {path}", _is_open(await ask(path)))

    async def _listen(self, path: str) -> None:
        try:
            socket = await self._browser.socket(path)
        except (OSError, WebSocketException, EOFError):
            self._note(f"the socket {path}", False)
        else:
            self._note(f"the socket {path}", True)
            socket.transport.abort()

    def _note(self, what: str, opened: bool) -> None:
        self._log.looks.append(Look(time.monotonic(), self._who, what, opened))


def _is_open(reply: Reply) -> bool:
    return reply.accepted or (300 <= reply.status < 400 and not reply.signed_out)
