"""An answer being written, once for all its readers in this process.

Taken from the database when a reader comes, grown by news, and taken from there again after a gap.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from django.utils.safestring import SafeString

from chat.domain import answers
from chat.live import frames
from chat.markdown import Live
from chat.models import Generation

Wait = tuple[int, int | None]
_WHOLE = (Generation.State.DONE, Generation.State.STOPPED)


@dataclass(eq=False)
class Answer:
    """``version`` grows with every change, ``shape`` with those that are more than growth.

    ``run`` is the generation that writes. One that has just begun is known by that alone, and its
    ``reading`` comes later. ``held`` are news heard while the answer was being read; ``None`` when
    nobody reads it.
    """

    id: str
    run: str = ""
    reading: answers.Reading | None = None
    text: Live = field(default_factory=Live)
    seq: int = 0
    version: int = 0
    shape: int = 0
    wait: Wait | None = None
    is_paused: bool = False
    heard_at: float = field(default_factory=time.monotonic)
    readers: set[Callable[[], None]] = field(default_factory=set)
    held: list[dict[str, Any]] | None = None
    thoughts: str = ""
    _pieces: list[str] = field(default_factory=list)
    _open: tuple[int, SafeString] = (-1, SafeString(""))
    _frame: tuple[tuple[object, ...], str] = ((), "")

    @property
    def is_active(self) -> bool:
        """Whether more may come: it is being written, or nobody has looked yet."""
        return self.reading is None or self.reading.is_active

    @property
    def open(self) -> SafeString:
        """The block that is not finished."""
        if self._open[0] != self.version:
            self._open = self.version, self.text.open
        return self._open[1]

    @property
    def has_text(self) -> bool:
        """Whether there is anything to read yet."""
        return bool(self.text.blocks or self.open)

    @property
    def is_gone(self) -> bool:
        """Whether there is no such answer."""
        return self.reading is None and not self.run

    def begin(self, run: str) -> None:
        """It was asked for this moment: there is nothing to read yet."""
        self.run = run
        self._changed()

    def take(self, reading: answers.Reading | None, text: Live) -> None:
        """Start over from what the database holds; ``None`` when the answer is gone."""
        self.text = text
        self.reading = replace(reading, live=text) if reading else None
        self.run = _run(reading)
        self.seq = reading.seq if reading else 0
        self._pieces = [reading.text] if reading else []
        self.thoughts = reading.thoughts if reading and reading.is_active else ""
        self.wait = None if text.blocks or text.open or self.thoughts else self.wait
        self.is_paused = False
        self.shape += 1
        self._changed()

    def adopt(self, reading: answers.Reading | None) -> None:
        """What the database holds of it is not more than what is known here."""
        if self.reading is None and reading is not None:
            self.reading = replace(reading, live=self.text)
            if self.is_paused:
                self._changed()  # which cannot be shown of an answer known by its run alone

    def grow(self, item: dict[str, Any]) -> bool:
        """Add a chunk; ``False`` when one before it is missing, or it is of another run."""
        if not self._is_of_our_run(item):
            return False
        self.heard_at = time.monotonic()
        if item["seq"] <= self.seq:
            return True
        if item["seq"] != self.seq + 1:
            return False
        self.seq += 1
        self._say(item["text"])
        self.wait = None
        self.shape += self.is_paused
        self.is_paused = False
        self._changed()
        return True

    def think(self, item: dict[str, Any]) -> bool:
        """Add a chunk with reasoning. The first one is read from the rows: the page has to get a
        place for it."""
        reading = self.reading
        is_known = self._is_of_our_run(item) and item["seq"] <= self.seq
        if is_known or not self.thoughts or reading is None:
            return is_known
        ms = (reading.message.reasoned_ms or 0) + (item["reasoned_ms"] or 0)
        if not self.grow(item):
            return False
        self.thoughts += item["reasoning"]
        self.reading = replace(reading, reasoning=self.thoughts, reasoned_ms=ms)
        return True

    def _say(self, words: str) -> None:
        if words and self.thoughts and not self.has_text:
            self.shape += 1  # it has thought enough, and says for how long
        self.text.feed(words)
        self._pieces.append(words)

    def stand(self, ahead: int, seconds: int | None) -> None:
        """Its place in line."""
        if self.is_active and not self.has_text:
            self.wait = ahead, seconds
            self._changed()

    def pause(self, item: dict[str, Any]) -> None:
        """Its engine is away: it goes on with the next word, or ends."""
        if self._is_of_our_run(item) and self.is_active and not self.is_paused:
            self.is_paused = True
            self.shape += 1
            self._changed()

    def end(self, item: dict[str, Any]) -> bool:
        """It is whole; ``False`` when the database has to be asked how."""
        reading = self.reading
        known = self._is_of_our_run(item) and item["seq"] == self.seq
        if reading is None or not known or item["state"] not in _WHOLE:
            return False
        reading.generation.state = item["state"]  # type: ignore[union-attr]  # it is of our run
        reading.generation.reason = item["reason"]  # type: ignore[union-attr]  # likewise
        html = self.text.finish()
        self.is_paused = False
        self.reading = replace(reading, live=None, text="".join(self._pieces), html=html)
        self.shape += 1
        self._changed()
        return True

    def growth(self, since: int, had_open: str, *, first: bool) -> str:
        """The frame for a reader who has the first ``since`` blocks and ``had_open`` after them."""
        key = (self.version, since, had_open, first)
        if self._frame[0] != key:
            frame = frames.growth(
                self.id, since, self.text.blocks, had=had_open, open_=self.open, first=first
            )
            self._frame = key, frame
        return self._frame[1]

    def is_behind(self, reading: answers.Reading | None) -> bool:
        """Whether ``reading`` tells something new. One that was begun earlier may not."""
        if self.version == 0 or reading is None or _run(reading) != self.run:
            return True
        return reading.is_active != self.is_active or reading.seq > self.seq

    def _is_of_our_run(self, item: dict[str, Any]) -> bool:
        return bool(self.run) and self.run == item["generation"]

    def _changed(self) -> None:
        self.heard_at = time.monotonic()
        self.version += 1
        for wake in tuple(self.readers):
            wake()


def _run(reading: answers.Reading | None) -> str:
    return str(reading.generation.pk) if reading and reading.generation else ""
