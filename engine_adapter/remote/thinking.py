"""Tells reasoning apart where an engine leaves it in the text, between think tags.

Pure. Only the start of an answer may open the tag: one that comes later is spoken of, not thought.
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum, auto

from engine_adapter.types import Reasoning, Text

_OPEN, _CLOSE = "<think>", "</think>"


class _Place(Enum):
    START = auto()
    INSIDE = auto()
    BEHIND = auto()
    TEXT = auto()


class ThinkingTags:
    """Splits the text of one answer, fed in any pieces."""

    def __init__(self) -> None:
        self._place = _Place.START
        self._held = ""

    def feed(self, piece: str) -> Iterator[Text | Reasoning]:
        """What ``piece`` adds; its tail is held back while it may belong to a tag."""
        if self._place is _Place.TEXT:
            yield Text(piece)
            return
        self._held += piece
        if self._place is _Place.START:
            start = self._held.lstrip()
            if start.startswith(_OPEN):
                self._place, self._held = _Place.INSIDE, start[len(_OPEN) :]
            elif not _OPEN.startswith(start):
                self._place = _Place.TEXT
        if self._place is _Place.INSIDE:
            thought, tag, rest = self._held.partition(_CLOSE)
            if tag:
                self._place, self._held = _Place.BEHIND, rest
            else:
                keep = _overlap(thought, _CLOSE)
                thought, self._held = thought[: len(thought) - keep], thought[len(thought) - keep :]
            if thought:
                yield Reasoning(thought)
        if self._place is _Place.BEHIND and (rest := self._held.lstrip()):
            self._place, self._held = _Place.TEXT, rest
        if self._place is _Place.TEXT:
            yield from self.flush()

    def flush(self) -> Iterator[Text | Reasoning]:
        """What is still held back, at the end of the answer."""
        held, self._held = self._held, ""
        if held and self._place is not _Place.BEHIND:
            yield Reasoning(held) if self._place is _Place.INSIDE else Text(held)


def _overlap(text: str, tag: str) -> int:
    """How many of the last characters of ``text`` may be the start of ``tag``."""
    return next((n for n in range(min(len(text), len(tag) - 1), 0, -1) if tag[:n] == text[-n:]), 0)
