"""What one reader has of one answer, and the frame that brings it up to date."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.template.loader import render_to_string
from django.utils import translation

from chat.domain.answers import Reading
from chat.live import frames, usual
from chat.live.answer import Answer, Wait


@dataclass(eq=False)
class Seen:
    """The reader's place in ``answer``, as of the last frame.

    ``is_temporary``: the page offers nothing for it that only a stored answer can do.
    """

    answer: Answer
    is_temporary: bool = False
    version: int = 0
    shape: int = 0
    blocks: int = 0
    open: str = ""
    has_text: bool = False
    thoughts: int = 0
    wait: Wait | None = None
    is_greeted: bool = False
    is_over: bool = False

    def next_frame(self, language: str) -> str:
        """What is new, as one frame; nothing where nothing is. The place moves on with it."""
        answer = self.answer
        if answer.version == self.version:
            return ""
        self.version = answer.version
        if answer.is_gone:
            self.is_over = True
            return ""
        if answer.shape != self.shape and answer.reading is not None:
            frame = self._article(answer.reading, language)
        elif answer.has_text:
            first = not self.has_text
            frame = answer.growth(self.blocks, self.open, first=first)
            self.open, self.has_text = answer.open, True
        elif len(answer.thoughts) > self.thoughts:
            frame = frames.thoughts(answer.id, answer.thoughts[self.thoughts :])
        elif not self.is_greeted:
            frame = self._begun(language)
        elif answer.wait != self.wait:
            frame = self._render("chat/_wait.html", language, oob=True)
        else:
            return ""
        self.is_greeted, self.wait = True, answer.wait
        self.blocks, self.thoughts = len(answer.text.blocks), len(answer.thoughts)
        return frame

    def _article(self, reading: Reading, language: str) -> str:
        """All of it. The next frame brings the open block whole: a page has it as elements now."""
        self.shape, self.open = self.answer.shape, ""
        self.has_text = self.answer.has_text
        self.is_over = not reading.is_active
        if usual.is_plain(reading) and not self.is_temporary:
            return usual.done(reading, language)
        active = None if self.is_over else reading
        return self._render("chat/_answer_frame.html", language, reading=reading, active=active)

    def _begun(self, language: str) -> str:
        if self.answer.wait is None:
            return usual.begun(self.answer.id, language)
        active = {"message": {"pk": self.answer.id}}
        return self._render("chat/_begun_frame.html", language, oob=True, active=active)

    def _render(self, template: str, language: str, **context: Any) -> str:
        place, seconds = self.answer.wait or (0, None)
        message = {"pk": self.answer.id}
        about = {"message": message, "place": place, "seconds": seconds, "frame": True,
                 "is_temporary": self.is_temporary, "is_paused": self.answer.is_paused}  # fmt: skip
        with translation.override(language):
            return render_to_string(template, {**about, **context})
