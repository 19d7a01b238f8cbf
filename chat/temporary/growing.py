"""An answer of a temporary chat while it is written: what the engine says, as its page will see it.

Made of the same rows as a stored answer, which nobody saves, so that it is shown in the same way.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from uuid import UUID

from chat.domain.answers import Reading
from chat.domain.generations import End
from chat.live.answer import Answer
from chat.live.seen import Seen
from chat.markdown import Live
from chat.models import Generation, LanguageModel, Message


class Growing:
    """A ``Listener`` of ``asking``. ``wake`` is called when there is something to see."""

    def __init__(self, id: UUID, language_model: LanguageModel, wake: Callable[[], None]) -> None:
        # What the database would fill in has to be said here: it never sees this row.
        message = Message(
            id=id, role=Message.Role.ASSISTANT, language_model=language_model, reasoning=""
        )
        self._run = Generation(message=message, state=Generation.State.RUNNING)
        self._pieces: list[str] = []
        self._thoughts: list[str] = []
        self._thinks_since = 0.0
        self._seq = 0
        self.id = id
        self.has_text = self.has_thought = False
        self.answer = Answer(str(id))
        self.reading = Reading(message, "", self._run)
        self.answer.take(self.reading, Live())
        self.answer.readers.add(wake)
        self.seen = Seen(self.answer, is_temporary=True)

    @property
    def text(self) -> str:
        """What is written so far."""
        return "".join(self._pieces)

    def is_on_the_page(self) -> None:
        """The page has it already as it stands, with not a word of it."""
        seen = self.seen
        seen.version, seen.shape, seen.is_greeted = self.answer.version, self.answer.shape, True

    def say(self, text: str) -> None:
        """Blanks before the first word are nothing to read."""
        text = text.replace("\0", "")
        if not text or not (self.has_text or text.strip()):
            return
        self.has_text = True
        self._pieces.append(text)
        self.answer.grow(self._next(text=text))

    def think(self, text: str) -> None:
        """The first thought brings the place for all of them."""
        text = text.replace("\0", "")
        if not text:
            return
        now = time.monotonic()
        self._thoughts.append(text)
        if not self.has_thought:
            self.has_thought, self._thinks_since = True, now
            self._seq += 1
            reading = replace(self.reading, reasoning=text, reasoned_ms=0, seq=self._seq)
            self.answer.take(reading, Live())
            return
        ms = round(1000 * (now - self._thinks_since))
        self.answer.think(self._next(text="", reasoning=text, reasoned_ms=ms))

    def stand(self, ahead: int) -> None:
        """Its place in line; 0 is its turn."""
        self.answer.stand(ahead, None)

    def end(self, end: End) -> None:
        """It is over. Rendered whole once, as every answer is."""
        self._run.state, self._run.reason, self._run.facts = end.state, end.reason, end.facts
        if end.usage:
            self._run.prompt_tokens = end.usage.prompt_tokens
            self._run.completion_tokens = end.usage.completion_tokens
        html = self.answer.text.finish()
        last = self.answer.reading or self.reading
        self.answer.take(replace(last, text=self.text, html=html, seq=self._seq), Live())

    def _next(self, **chunk: object) -> dict[str, object]:
        self._seq += 1
        return {"generation": str(self._run.pk), "seq": self._seq, **chunk}
