"""One person's script: asks, reads to the end, now and then stops, continues, asks again.

What goes wrong is answered as a person does: the text is still there, it is sent once more.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Awaitable, Callable, Mapping
from urllib.parse import urlsplit
from uuid import UUID

from tests.faults.browser import Browser, Reply
from tests.faults.record import Log, Post
from tests.faults.tab import Tab
from tests.faults.voices import LETTERS, Voice, question

QUESTIONS_A_CONVERSATION = 3
END_WITHIN_S = 150.0  # two processes may hang one after the other, 43 s each, and both hold it up
AGAIN_WITHIN_S = 60.0
Stored = Callable[[str], Awaitable[bool | None]]


class Person:
    """Lives until ``leave`` is called and the answer on the page has ended.

    ``stored`` looks whether a message is in the database; ``voices`` is what can be asked for.
    Who is ``plain`` asks one question a conversation and waits for its answer, no more.
    """

    def __init__(
        self,
        browser: Browser,
        log: Log,
        voices: Mapping[str, Voice],
        stored: Stored,
        chance: random.Random,
        *,
        plain: bool = False,
    ) -> None:
        self._browser, self._log, self._voices = browser, log, voices
        self._stored, self._chance, self._plain = stored, chance, plain
        self.tab: Tab | None = None
        self.leaving = False

    def leave(self) -> None:
        """Ask nothing more."""
        self.leaving = True

    async def live(self) -> None:
        """Conversation after conversation."""
        await asyncio.sleep(self._chance.uniform(0, 1.5))
        while not self.leaving:
            await self.converse()
        await self.close()

    async def close(self) -> None:
        """Leave the page."""
        if self.tab is not None:
            await self.tab.close()
            self.tab = None

    async def converse(self) -> None:
        """One conversation of a few questions, some of them asked otherwise or answered anew."""
        await self.close()
        voice = self._voices[self._chance.choice(LETTERS)]
        for number in range(1 if self._plain else QUESTIONS_A_CONVERSATION):
            if self.leaving:
                return
            deed = self._chance.choices(("ask", "edit", "regenerate"), (6, 1, 1))[0]
            if number == 0 or deed == "ask":
                done = await self.ask(voice)
            elif deed == "edit":
                done = await self.ask(voice, instead_of=self.tab.question() if self.tab else "")
            else:
                done = await self.regenerate()
            answer = self.newest() if done else None
            if answer is None or not await self._read(answer):
                return
            await asyncio.sleep(self._chance.uniform(0.1, 0.6))

    async def ask(
        self, voice: Voice, manner: str | None = None, instead_of: str = "", before: str = ""
    ) -> Post | None:
        """Send a question until it is taken; ``None`` when it never was.

        ``instead_of`` is the question on this page that it is another version of; ``before`` are
        words before the question's own.
        """
        id = self._new_id()
        post = Post("ask", str(id), time.monotonic(), f"q{id.hex[:12]}", voice.letter)
        manner = manner or self._chance.choices(("once", "twice", "cut"), (8, 1, 1))[0]
        path = f"{self.tab.path}messages/" if self.tab else "/conversations/"
        if instead_of:
            path = f"/messages/{instead_of}/edit/"
        fields = {"text": before + question(voice.letter, post.tag), "message_id": post.id}
        reply = await self._until_taken(post, path, manner, fields)
        return post if reply and await self._show(reply, voice, instead_of) else None

    async def regenerate(self) -> Post | None:
        """Let the last answer be written anew beside itself."""
        assert self.tab is not None
        answer = self.tab.answers()[-1]
        post = Post("regenerate", str(self._new_id()), time.monotonic())
        path, fields = f"/answers/{answer}/regenerate/", {"message_id": post.id}
        reply = await self._until_taken(post, path, "once", fields)
        if reply is None:
            return None
        self.tab.take_tail(answer, reply.text)
        return post

    def _new_id(self) -> UUID:
        return UUID(int=self._chance.getrandbits(128), version=4)

    async def _until_taken(
        self, post: Post, path: str, manner: str, fields: dict[str, str]
    ) -> Reply | None:
        """Send it, with the same id every time, until the house says yes."""
        self._log.posts.append(post)
        if self.tab is not None:
            self.tab.is_asking = True
        try:
            return await self._repeat(post, path, manner, fields)
        finally:
            if self.tab is not None:
                self.tab.is_asking = False

    async def _repeat(
        self, post: Post, path: str, manner: str, fields: dict[str, str]
    ) -> Reply | None:
        limit = time.monotonic() + AGAIN_WITHIN_S
        while time.monotonic() < limit:
            for reply in await self._send(post, path, manner, fields):
                if reply.accepted:
                    post.acknowledged_at = time.monotonic()
                    post.stored_then = await self._stored(post.id)
                    return reply
                post.refusals.append(reply.words)
                if reply.signed_out:
                    self._log.signed_out.append("who asked a question")
            manner = "once"
            await asyncio.sleep(self._chance.uniform(0.3, 1.0))
        self._log.stuck.append(f"{post.deed} {post.id} was never taken: {post.refusals[-3:]}")
        return None

    async def act(self, deed: str, answer: str) -> None:
        """Press Stop, or Continue or Retry, until the house says yes."""
        post = Post(deed, answer, time.monotonic())  # type: ignore[arg-type]  # one of the deeds
        self._log.posts.append(post)
        limit = time.monotonic() + AGAIN_WITHIN_S
        while time.monotonic() < limit:
            post.tries += 1
            asked_at = time.monotonic()
            reply = await self._browser.post(
                f"/answers/{answer}/{deed}/", message_id=str(self._new_id())
            )
            if reply.accepted:
                post.acknowledged_at = time.monotonic()
                if self.tab is not None:
                    self.tab.take(reply.text, asked_at)
                return
            post.refusals.append(reply.words)
            await asyncio.sleep(self._chance.uniform(0.3, 1.0))
        self._log.stuck.append(f"{deed} of {answer} was never taken: {post.refusals[-3:]}")

    async def _send(
        self, post: Post, path: str, manner: str, fields: dict[str, str]
    ) -> list[Reply]:
        post.tries += 1
        if manner == "twice":
            post.tries += 1
            both = (self._browser.post(path, **fields) for _ in range(2))
            return sorted(await asyncio.gather(*both), key=lambda r: not r.accepted)
        if manner == "cut":
            return [await self._browser.post_and_hang_up(path, self._chance, **fields)]
        return [await self._browser.post(path, **fields)]

    async def _show(self, reply: Reply, voice: Voice, instead_of: str) -> bool:
        """The page after the post: a new one, or this one with both messages at its end."""
        if self.tab is not None and not reply.leads_to:
            if instead_of:
                self.tab.take_tail(instead_of, reply.text)
            else:
                self.tab.take(reply.text)
            return True
        path = urlsplit(reply.leads_to).path
        tab = Tab(self._browser, self._log, path, self._chance)
        limit = time.monotonic() + AGAIN_WITHIN_S
        while not await tab.open():
            if time.monotonic() > limit:
                self._log.stuck.append(f"the page {tab.path} could not be opened")
                return False
            await asyncio.sleep(0.5)
        await self.close()
        self.tab = tab
        return True

    def newest(self) -> str | None:
        """The last answer on the page; that there is none is written down."""
        answers = self.tab.answers() if self.tab else []
        if not answers:
            self._log.stuck.append(f"there is no answer on {self.tab and self.tab.path!r}")
        return answers[-1] if answers else None

    async def _read(self, answer: str) -> bool:
        """Read to the end; ``False`` when it never came."""
        assert self.tab is not None
        patience_s = self._chance.uniform(0.5, 4.0) if self._chance.random() < 0.1 else None
        if patience_s and not self._plain and not await self.tab.until_ended(answer, patience_s):
            await self.act("stop", answer)
        limit = time.monotonic() + END_WITHIN_S
        while await self.tab.until_ended(answer, limit - time.monotonic()):
            state = self.tab.state(answer)
            if state == "done" or (state == "stopped" and self._chance.random() < 0.5):
                return True
            await asyncio.sleep(self._chance.uniform(0.2, 0.8))
            await self.act("retry", answer)
        self._log.stuck.append(f"answer {answer} came to no end: {self.tab.state(answer)!r}")
        return False
