"""One open page of a conversation: reads its socket, comes back with back-off, polls in silence.

What chat.js does with frames is done here, without a browser: the same swaps, the same patience.
"""

from __future__ import annotations

import asyncio
import contextlib
import random
import time

from websockets.asyncio.client import ClientConnection
from websockets.exceptions import WebSocketException

from tests.faults import dom
from tests.faults.browser import Browser
from tests.faults.record import Away, Log, Sight
from tests.faults.voices import squeezed

# chat.js: SILENCE_MS, GREETING_MS, POLL_MS, RECONNECT_MS, RECONNECT_MOST_MS
SILENCE_S = 4.0
GREETING_S = 0.7
POLL_S = 1.5
RECONNECT_S = 0.5
RECONNECT_MOST_S = 8.0
SIGNED_OUT = 4401


class Tab:
    """A page at ``path``. ``sights`` is what its reader saw of each answer."""

    def __init__(self, browser: Browser, log: Log, path: str, chance: random.Random) -> None:
        self.browser, self.path = browser, path
        self.sights: dict[str, Sight] = {}
        self.moved = asyncio.Event()
        self._reads = asyncio.Event()
        self._reads.set()
        self._log, self._chance = log, chance
        self._page = dom.parse("")
        self._heard: dict[str, float] = {}
        self._opens: dict[str, str] = {}
        self._wanted: dict[str, int] = {}  # requests for an answer: under way, and in line
        self._opened_at = 0.0  # of the socket; nothing while it is away
        self._socket: ClientConnection | None = None
        self._away: Away | None = None
        self._tasks: list[asyncio.Task[None]] = []
        self.is_closed = False
        self.is_asking = False
        self._catching_up = False

    async def open(self) -> bool:
        """Load the page and start to live; whether it could be loaded."""
        if not await self.load():
            return False
        self._tasks = [asyncio.create_task(self._listen()), asyncio.create_task(self._poll())]
        return True

    async def close(self) -> None:
        """Leave the page."""
        self.is_closed = True
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def load(self) -> bool:
        """The whole page anew, as it comes over HTTP."""
        asked_at = time.monotonic()
        reply = await self.browser.get(self.path)
        if reply.signed_out:
            self._log.signed_out.append(f"the reader of {self.path}")
        if not reply.accepted:
            return False
        self._page = dom.parse(reply.text)
        self._look(asked_at)
        return True

    def take(self, fragment: str, asked_at: float | None = None) -> None:
        """A form's reply: new messages go to the end; one that is here already is made anew, but
        not when the socket told its end after ``asked_at`` (``None``: it is never made anew)."""
        messages = self._page.find("messages")
        touched: set[str] = set()
        for part in dom.parse(fragment).elements:
            if part.tag != "article":
                continue
            known, answer = self._page.find(part.id), part.id[2:]
            if known is None and messages is not None:
                messages.children.append(part)
            elif known is not None and self._is_older(answer, asked_at):
                self._page.swap(part)
            else:
                continue
            touched.add(answer)
        self._look(asked_at or 0.0, touched)

    def take_tail(self, after: str, fragment: str) -> None:
        """A reply that comes in the place of the message ``after`` and all that follow it."""
        messages = self._page.find("messages")
        place = self._page.find(f"m-{after}")
        if messages is not None and place in messages.children:
            del messages.children[messages.children.index(place) :]
        self.take(fragment)

    def _is_older(self, answer: str, asked_at: float | None) -> bool:
        if asked_at is None:
            return False
        return self.is_writing(answer) or self._heard.get(answer, 0.0) <= asked_at

    def answers(self) -> list[str]:
        """The ids of the answers on the page, in order."""
        return [a.id[2:] for a in self._articles()]

    def question(self) -> str:
        """The id of the last question on the page, or nothing."""
        all = [e.id[2:] for e in self._page.walk() if "question" in e.classes and e.id]
        return all[-1] if all else ""

    def is_writing(self, answer: str) -> bool:
        """Whether the page says that more is coming."""
        article = self._page.find(f"m-{answer}")
        return article is not None and "aria-busy" in article.attributes

    def state(self, answer: str) -> str:
        """How the answer stands on the page."""
        article = self._page.find(f"m-{answer}")
        return article.attributes.get("data-state", "") if article else ""

    def pause(self) -> None:
        """Read nothing more: first the page's buffer fills, then the line's, then the house's."""
        self._reads.clear()

    def resume(self) -> None:
        """Read on; what lies in the buffers comes before any poll."""
        now = time.monotonic()
        self._heard = dict.fromkeys(self._heard, now)
        self._reads.set()

    def cut(self) -> None:
        """The line breaks in the middle of whatever is on it."""
        if self._socket is not None:
            self._socket.transport.abort()

    async def _listen(self) -> None:
        tries = 0
        while True:
            try:
                socket = self._socket = await self.browser.socket(f"/ws{self.path}")
            except (OSError, WebSocketException, EOFError):
                self._lose()
            else:
                tries = 0
                self._opened_at = time.monotonic()
                self._return()
                await self._read(socket)
                self._lose()
                if socket.close_code == SIGNED_OUT:
                    self._log.signed_out.append(f"the reader of {self.path}")
            wait_s = min(RECONNECT_MOST_S, RECONNECT_S * 2**tries)
            tries += 1
            await asyncio.sleep(wait_s * (0.5 + self._chance.random() / 2))

    async def _read(self, socket: ClientConnection) -> None:
        try:
            async for frame in socket:
                await self._reads.wait()
                self._apply(frame if isinstance(frame, str) else frame.decode())
        except (OSError, WebSocketException):
            pass
        finally:
            self._socket, self._opened_at = None, 0.0
            socket.transport.abort()

    def _lose(self) -> None:
        if self._away is None:
            self._away = Away(time.monotonic())
            self._log.absences.append(self._away)

    def _return(self) -> None:
        if self._away is not None:
            self._away.back_at, self._away = time.monotonic(), None

    def _apply(self, frame: str) -> None:
        now = time.monotonic()
        touched: set[str] = set()
        for part in dom.parse(frame).elements:
            if not part.id.startswith("m-"):
                continue
            answer = part.id[2:38]
            touched.add(answer)
            self._heard[answer] = now
            self._complete(part)
            there = self._page.find(part.id)
            if there is None:
                self._miss(answer)
            elif "data-from" in part.attributes and (
                part.attributes["data-from"] != there.attributes.get("data-blocks")
            ):
                self._start(self._ask_for(answer))
                return
            else:
                self._page.swap(part)
        self._look(None, touched)

    def _complete(self, part: dom.Element) -> None:
        """Of a long open block only what is new at its end comes, counted in UTF-16."""
        keep = part.attributes.pop("data-keep", None)
        if keep is not None:
            had = self._opens.get(part.id, "").encode("utf-16-le")[: 2 * int(keep)]
            self._opens[part.id] = had.decode("utf-16-le") + part.text
            part.children = dom.parse(self._opens[part.id]).children

    def _miss(self, answer: str) -> None:
        if self._page.find(f"m-{answer}") is None and not self._catching_up:
            self._catching_up = True
            self._start(self._catch_up())

    async def _catch_up(self) -> None:
        """An answer began that this page has not: it asks for the whole, now and then. While its
        own question is on the way nothing is missing."""
        if not self.is_asking:
            await self.load()
        await asyncio.sleep(POLL_S)
        self._catching_up = False

    def _start(self, work: object) -> None:
        task = asyncio.ensure_future(work)  # type: ignore[arg-type]  # a coroutine
        self._tasks.append(task)
        task.add_done_callback(self._tasks.remove)

    async def _poll(self) -> None:
        while True:
            await asyncio.sleep(POLL_S / 3)
            now = time.monotonic()
            busy = [a.id[2:] for a in self._articles() if "aria-busy" in a.attributes]
            for answer in busy if self._reads.is_set() else []:
                if now >= self._due(answer):
                    await self._ask_for(answer)

    def _due(self, answer: str) -> float:
        last = self._heard.setdefault(answer, 0.0)
        if last < self._opened_at:
            return self._opened_at + GREETING_S
        return last + (SILENCE_S if self._opened_at else POLL_S)

    async def _ask_for(self, answer: str) -> None:
        """What an article's ``hx-get`` does: one request at a time, and where there was cause for
        more meanwhile, one more."""
        self._wanted[answer] = self._wanted.get(answer, 0) + 1
        while self._wanted[answer] == 1 and not self.is_closed:
            await self._fetch(answer)
            self._wanted[answer] = min(1, self._wanted[answer] - 1)

    async def _fetch(self, answer: str) -> None:
        self._heard[answer] = asked_at = time.monotonic()
        reply = await self.browser.get(f"/answers/{answer}/")
        # While it was under way the socket may have told the end of this answer.
        ended = not self.is_writing(answer) and self._heard[answer] > asked_at
        if not reply.accepted or ended:
            return
        part = dom.parse(reply.text).find(f"m-{answer}")
        if part is not None:
            self._page.swap(part)
            self._look(asked_at, {answer})

    def _articles(self, only: set[str] | None = None) -> list[dom.Element]:
        """The answers, or those of them whose ids are named."""
        if only is None:
            found = self._page.walk()
        else:
            found = filter(None, (self._page.find(f"m-{answer}") for answer in only))
        return [e for e in found if e.tag == "article" and "answer" in e.classes]

    def _look(self, asked_at: float | None, only: set[str] | None = None) -> None:
        """Write down what the page shows now. A reply is not older than what was shown when it was
        ``asked_at``, and a frame (``None``) not older than the frame before."""
        now = time.monotonic()
        for article in self._articles(only):
            answer = article.id[2:]
            sight = self.sights.get(answer)
            if sight is None:
                sight = self.sights[answer] = Sight(answer)
                self._log.sights.append(sight)
            prose = [e for e in article.walk() if "prose" in e.classes]
            text = squeezed("".join(e.text for e in prose))
            sight.show(now, text, sight.told if asked_at is None else sight.shown_at(asked_at))
            if asked_at is None:
                sight.told = len(text)
            sight.state = article.attributes.get("data-state", "")
            writing = "aria-busy" in article.attributes
            sight.ended_at = None if writing else sight.ended_at or now
        self.moved.set()

    async def until_ended(self, answer: str, within_s: float) -> bool:
        """Wait for the answer's end; ``False`` when it does not come."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(within_s):
                while self.is_writing(answer) or not self.state(answer):
                    self.moved.clear()
                    await self.moved.wait()
                return True
        return False
