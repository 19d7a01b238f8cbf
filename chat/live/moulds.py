"""HTML that differs by a few words from one time to the next: rendered once, then only filled in.

A template costs twenty times as much as joining what stays with what differs. Whoever makes a mould
renders its template with ``MARKS`` where the words go, so that all that differs is known.
"""

from __future__ import annotations

import re
from typing import Final
from uuid import UUID

from django.utils.html import conditional_escape

# Neither is ever an id of ours: those are random. They read the same in HTML and in addresses.
MARKS: Final = tuple(UUID(int=0xC0DE << 64 | number) for number in range(8))
_MARK: Final = re.compile("(" + "|".join(map(str, MARKS)) + ")")


class Mould:
    """``html`` with marks in it."""

    def __init__(self, html: str) -> None:
        pieces = _MARK.split(html)  # a mark between every two pieces
        self._pieces = pieces
        self._places = [(at, MARKS.index(UUID(mark))) for at, mark in enumerate(pieces) if at % 2]

    def filled(self, *values: str | UUID | int) -> str:
        """With ``values`` in the places of the marks: ids and texts, escaped, and safe HTML."""
        words = [conditional_escape(v if isinstance(v, str) else str(v)) for v in values]
        pieces = self._pieces.copy()
        for at, which in self._places:
            pieces[at] = words[which]
        return "".join(pieces)
