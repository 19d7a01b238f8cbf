"""The words of a text around what was found in it, cut in parts that are marked or not."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from chat.domain import folding
from chat.domain.queries import Term

LENGTH: Final = 220
BEFORE: Final = 50
_LOOKED_AT: Final = 1000  # characters after the first place, for one with more of the terms
_MOST_PLACES: Final = 100
# Spaces, and what in Markdown only says how a text looks: signs, the rule of a table, notes.
_GAPS: Final = re.compile(
    r"(?:[\s*`#|\x00-\x1f\u202a-\u202e\u2066-\u2069]|:?-{3,}:?|\[\^[^\]\s]{1,20}\])+"
)


@dataclass(frozen=True, slots=True)
class Part:
    """Some of a text. ``found`` parts are what was looked for."""

    text: str
    found: bool = False


@dataclass(frozen=True, slots=True)
class _Place:
    start: int
    end: int
    term: int


class Marker:
    """Finds terms in texts. Remembers what it has seen: the same words come again and again."""

    def __init__(self, terms: Sequence[Term]) -> None:
        self._terms = terms
        self._looked_at = LENGTH if len(terms) == 1 else _LOOKED_AT
        self._seen: dict[str, list[int]] = {}
        self._beginnings = {folding.plain(form)[:1] for term in terms for form in term.forms}
        self._first_letters: dict[str, str] = {}

    def around(self, text: str, *, length: int = LENGTH) -> list[Part]:
        """The ``length`` characters with most of the terms. Whoever shows them escapes them."""
        places = self._places(text)
        first = max(places, key=lambda place: _near(place, places, length), default=None)
        start, end = _window(text, first.start if first else 0, length)
        parts = [Part("… ")] if start else []
        at = start
        for place in places:
            if place.start >= at and place.end <= end:
                parts += [Part(text[at : place.start]), Part(text[place.start : place.end], True)]
                at = place.end
        parts += [Part(text[at:end]), Part(" …" if end < len(text) else "")]
        clean = (Part(_GAPS.sub(" ", part.text), part.found) for part in parts)
        return [part for part in clean if part.text]

    def _places(self, text: str) -> list[_Place]:
        found: list[_Place] = []
        for start, piece in folding.pieces(text):
            if found and (start > found[0].start + self._looked_at or len(found) >= _MOST_PLACES):
                break
            if not self._may_be(piece):
                continue
            numbers = self._seen.get(piece)
            if numbers is None:
                numbers = self._seen[piece] = self._meant(piece)
            for number in numbers:
                found.append(_exactly(start, piece, number, self._terms[number]))
        return sorted(found, key=lambda place: place.start)

    def _may_be(self, piece: str) -> bool:
        """Whether its first letter is that of a term: most pieces are done with here."""
        letter = self._first_letters.get(piece[0])
        if letter is None:
            words = folding.words(piece[0])
            letter = folding.plain(words[0])[:1] if words else ""
            self._first_letters[piece[0]] = letter
        return not letter or letter in self._beginnings or folding.has_run(piece)

    def _meant(self, piece: str) -> list[int]:
        """Which terms it fits."""
        words = folding.words(piece)
        return [
            number
            for number, term in enumerate(self._terms)
            if any(term.fits(word) for word in words)
        ]


def _exactly(start: int, piece: str, number: int, term: Term) -> _Place:
    """A word whole; of a script without spaces, where it is written as asked, that part only."""
    if term.is_run and (at := piece.find(term.forms[0])) >= 0:
        return _Place(start + at, start + at + len(term.forms[0]), number)
    return _Place(start, start + min(len(piece), LENGTH // 2), number)


def _near(place: _Place, places: Sequence[_Place], length: int) -> int:
    """How many of the terms stand in the window that begins with ``place``."""
    reach = place.start + length - BEFORE
    return len({one.term for one in places if place.start <= one.start and one.end <= reach})


def _window(text: str, first: int, length: int) -> tuple[int, int]:
    """Where to cut: between words where there is a gap near enough."""
    start = max(0, first - BEFORE)
    if start:
        gap = next((at for at in range(start, first) if text[at].isspace()), start - 1)
        start = gap + 1
    end = min(len(text), start + length)
    if end < len(text):
        backwards = range(end, max(start, end - 30), -1)
        end = next((at for at in backwards if text[at].isspace()), end)
    return start, end
