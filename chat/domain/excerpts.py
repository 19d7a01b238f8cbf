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
_LOOKED_AT: Final = 4000  # characters after the first place: one with more of the words may follow
_MOST_PLACES: Final = 100
# Spaces, and what in Markdown only says how a text looks.
_GAPS: Final = re.compile(r"[\s*`#|\x00-\x1f\u202a-\u202e\u2066-\u2069]+")


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


def around(text: str, terms: Sequence[Term], *, length: int = LENGTH) -> list[Part]:
    """The ``length`` characters with most of the terms. Plain text: whoever shows it escapes it."""
    places = _places(text, terms)
    first = max(places, key=lambda place: _near(place, places, length), default=None)
    start, end = _window(text, first.start if first else 0, length)
    parts = [Part("… ")] if start else []
    at = start
    for place in places:
        if start <= place.start and place.end <= end and place.start >= at:
            parts += [Part(text[at : place.start]), Part(text[place.start : place.end], True)]
            at = place.end
    parts += [Part(text[at:end]), Part(" …" if end < len(text) else "")]
    clean = (Part(_GAPS.sub(" ", part.text), part.found) for part in parts)
    return [part for part in clean if part.text]


def _places(text: str, terms: Sequence[Term]) -> list[_Place]:
    found: list[_Place] = []
    for start, end, words in folding.pieces(text):
        if found and (start > found[0].start + _LOOKED_AT or len(found) >= _MOST_PLACES):
            break
        found += [
            _exactly(text, start, end, number, term)
            for number, term in enumerate(terms)
            if any(term.fits(word) for word in words)
        ]
    return sorted(found, key=lambda place: place.start)


def _exactly(text: str, start: int, end: int, number: int, term: Term) -> _Place:
    """A word whole; of a script without spaces, where it is written as asked, that part only."""
    if term.is_run and (at := text.find(term.forms[0], start, end)) >= 0:
        return _Place(at, at + len(term.forms[0]), number)
    return _Place(start, min(end, start + LENGTH // 2), number)


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
