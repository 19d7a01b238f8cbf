"""The socket of a temporary chat: takes questions up, asks the engine, carries answers down.

Commands come by the socket here, since only the process that serves it knows the conversation.
"""

from __future__ import annotations

import asyncio
import json
import logging
import secrets
from collections import Counter
from typing import Final
from uuid import uuid4

from channels.db import database_sync_to_async
from django.db import Error as DatabaseError

from chat.consumers import Socket
from chat.domain import serving
from chat.domain.generations import End
from chat.engines import Engines
from chat.models import Generation, LanguageModel
from chat.runner import pace
from chat.temporary import accepting, asking, pages
from chat.temporary.growing import Growing
from chat.temporary.talk import Talk
from engine_adapter.errors import EngineError

log = logging.getLogger(__name__)

State = Generation.State
MOST_OPEN: Final = 5  # that a person has begun and not left, in one web process
MOST_AT_ONCE: Final = 16  # things that are being done for one page
_open: Counter[str] = Counter()


class TemporaryConsumer(Socket):
    """Holds one temporary chat. When the page is gone, so is all of it."""

    async def connect(self) -> None:
        """See ``Socket``."""
        self._name = secrets.token_hex(16)
        self._talk = Talk()
        self._engines = Engines()
        self._growing: Growing | None = None
        self._model: LanguageModel | None = None
        self._task: asyncio.Task[None] | None = None
        self._stopping = False
        await super().connect()

    async def disconnect(self, code: int) -> None:
        """The page is gone: nobody waits for what is being written."""
        await super().disconnect(code)
        await self._engines.aclose()

    def _fall_silent(self) -> None:
        super()._fall_silent()
        if self._talk.questions:
            _open[self.user_id] -= 1
            if not _open[self.user_id]:
                del _open[self.user_id]
        self._talk, self._growing = Talk(), None

    async def _look(self) -> None:
        """The page learns which talk it is."""
        self._start(self._send(pages.place(self._place)))

    @property
    def _place(self) -> str:
        """Names the talk and how far it is: by it is known what was sent twice, and what was
        meant for a talk that is gone."""
        return f"{self._name}.{self._talk.questions}"

    # Commands up

    async def receive(self, text_data: str | None = None, bytes_data: bytes | None = None) -> None:
        """A question, Stop or Retry. Never waits: the end of the page must be heard at once."""
        if len(self._tasks) > MOST_AT_ONCE:
            return  # a page waits for each reply; this is none of ours
        command = _read(text_data or "")
        act = command.get("act", "")
        task = self._task if self._task and not self._task.done() else None
        if act == "stop" and task and self._growing:
            self._stopping = True
            task.cancel()
        elif act == "retry" and not task and self._growing and self._talk.is_broken:
            self._task = self._start(self._write_again(self._growing))
        elif not act and "text" in command:
            self._take(command, is_writing=task is not None)

    def _take(self, command: dict[str, str], *, is_writing: bool) -> None:
        place = command.get("talk", "")
        if place.partition(".")[0] not in ("", self._name):
            self._start(self._send(pages.over(self._language)))
        elif place != self._place and (place or self._talk.questions):
            log.debug("a question was sent twice")
        elif is_writing:
            self._start(self._refuse(accepting.STILL_WRITING))
        else:
            self._task = self._start(self._ask(command))

    async def _refuse(self, problem: object) -> None:
        await self._send(pages.refused(problem, self._language))

    async def _ask(self, command: dict[str, str]) -> None:
        if not self._talk.questions and _open[self.user_id] >= MOST_OPEN:
            await self._refuse(accepting.TOO_MANY)
            return
        accept = database_sync_to_async(accepting.accept)
        try:
            text, self._model = await accept(
                self._user, self.scope, command, self._talk, language=self._language
            )
        except accepting.Refused as refusal:
            await self._refuse(refusal)
            return
        except DatabaseError:
            await self._refuse(accepting.AWAY)
            return
        if not self._talk.questions:
            _open[self.user_id] += 1
        self._talk.ask(text)
        growing = self._growing = Growing(uuid4(), self._model, self._wake.set)
        growing.is_on_the_page()
        await self._send(pages.asked(text, growing, self._place, self._language))
        await self._write(growing, self._model)

    async def _write_again(self, broken: Growing) -> None:
        """In the place of an answer that came to no end."""
        if self._model is None:
            return
        try:
            model = await database_sync_to_async(accepting.check)(self._user, self._model)
        except accepting.Refused as refusal:
            await self._refuse(refusal)
            return
        except DatabaseError:
            await self._refuse(accepting.AWAY)
            return
        self._model = model
        self._talk.take_back()
        self._growing = Growing(broken.id, model, self._wake.set)
        self._wake.set()
        await self._write(self._growing, model)

    # Answers down

    async def _write(self, growing: Growing, model: LanguageModel) -> None:
        talk, self._stopping = self._talk, False
        request = talk.request(model, self.user_id)
        try:
            members = await database_sync_to_async(serving.members)(model)
            engine = self._engines.serving(model, members)
            end = await asking.write(engine, request, growing)
        except asyncio.CancelledError:
            if not self._stopping:
                raise
            end = End(State.STOPPED)
        except EngineError as error:
            end = asking.failed(growing, error.code)
        except Exception as error:
            # Its name only: what a library says of a fault may hold what it was given.
            log.error("a temporary answer failed here: %s", type(error).__name__)
            end = asking.failed(growing, "internal")
        talk.answer(growing.text, is_broken=end.state in {State.FAILED, State.INTERRUPTED})
        growing.end(end)

    async def _tell(self) -> None:
        """As often as a stored answer is told, however fast the engine is."""
        if self._growing is not None:
            frame = self._growing.seen.next_frame(self._language)
            if frame:
                await self._send(frame)
                await asyncio.sleep(pace.TICK_S)


def _read(text: str) -> dict[str, str]:
    """The fields of a form, as htmx sends them; nothing where it is none of ours."""
    try:
        sent = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    if not isinstance(sent, dict):
        return {}
    return {name: _whole(value) for name, value in sent.items() if isinstance(value, str)}


def _whole(text: str) -> str:
    """Half of a surrogate pair is no character, and nothing can be done with it."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
