"""Tells reasoning apart where a model leaves it in the text, between think tags.

Pure. Only the start of an answer may open the tag: one that comes later is spoken of, not thought.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum, auto

from engine_adapter.types import Reasoning, Text


@dataclass(frozen=True, slots=True)
class Tags:
    """What stands before and after the reasoning."""

    open: str
    close: str


THINK = Tags("<think>", "</think>")


class _Place(Enum):
    START = auto()
    INSIDE = auto()
    BEHIND = auto()
    TEXT = auto()


class ThinkingTags:
    """Splits the text of one answer, fed in any pieces. White space around the tags is theirs.

    With ``inside`` the prompt has opened the tag already.
    """

    def __init__(self, tags: Tags = THINK, *, inside: bool = False) -> None:
        self._tags = tags
        self._place = _Place.INSIDE if inside else _Place.START
        self._silent = True  # no reasoning has been given out
        self._held = ""

    @property
    def over(self) -> bool:
        """Whether all that comes is text."""
        return self._place is _Place.TEXT

    def feed(self, piece: str) -> Iterator[Text | Reasoning]:
        """What ``piece`` adds; its tail is held back while it may belong to a tag."""
        if self._place is _Place.TEXT:
            yield Text(piece)
            return
        self._held += piece
        if self._place is _Place.START:
            start = self._held.lstrip()
            if start.startswith(self._tags.open):
                self._place, self._held = _Place.INSIDE, start[len(self._tags.open) :]
            elif not self._tags.open.startswith(start):
                self._place = _Place.TEXT
        if self._place is _Place.INSIDE:
            yield from self._think()
        if self._place is _Place.BEHIND and (rest := self._held.lstrip()):
            self._place, self._held = _Place.TEXT, rest
        if self._place is _Place.TEXT:
            yield from self.flush()

    def flush(self) -> Iterator[Text | Reasoning]:
        """What is still held back, at the end of the answer."""
        held, self._held = self._held, ""
        if held and self._place is not _Place.BEHIND:
            yield Reasoning(held) if self._place is _Place.INSIDE else Text(held)

    def _think(self) -> Iterator[Reasoning]:
        if self._silent:
            self._held = self._held.lstrip()
        thought, tag, rest = self._held.partition(self._tags.close)
        if tag:
            self._place, self._held = _Place.BEHIND, rest
        else:
            keep = overlap(thought, self._tags.close)
            thought, self._held = thought[: len(thought) - keep], thought[len(thought) - keep :]
        if thought:
            self._silent = False
            yield Reasoning(thought)


def overlap(text: str, word: str) -> int:
    """How many of the last characters of ``text`` may be the start of ``word``."""
    at = text.find(word[0], max(0, len(text) - len(word) + 1))
    while at >= 0:
        if word.startswith(text[at:]):
            return len(text) - at
        at = text.find(word[0], at + 1)
    return 0
