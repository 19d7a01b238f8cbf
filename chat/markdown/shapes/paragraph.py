"""Running text that is still being written."""

from __future__ import annotations

import re
from html import escape

from markdown_it.token import Token

from chat.markdown import quick
from chat.markdown.reading import write
from chat.markdown.shapes.base import STARTS, WORDS, Shape

_SPECIAL = re.compile(r"[\\`*_~$\[\]<&]|  \n")
_LONG = 600


class Paragraph(Shape):
    """Finished up to the last word that stands outside all emphasis, maths and links."""

    before = '<p dir="auto">'
    after = "</p>\n"
    marks = re.compile(r"[\\`*_~$\[\]<&\n]")

    def goes_on(self, line: str, *, whole: bool, after_blank: bool) -> bool:
        return bool(WORDS.match(line)) if whole else not STARTS.match(line)

    def cut(self, rest: str) -> int:
        mark = _SPECIAL.search(rest)
        end = _last_space(rest, mark.start() if mark else len(rest))
        if mark is None or end:
            return end
        end = _last_space(rest, len(rest))
        return end if len(rest) > _LONG or _is_balanced(rest[:end]) else 0

    def part(self, source: str) -> str:
        if not _SPECIAL.search(source):
            return escape(source)
        if quick.is_simple(source):
            return quick.inline(source)
        inline = Token("inline", "", 0, content=source, children=[])
        return write([inline], self._env(source))

    def rest(self, source: str) -> str:
        return self.part(quick.closed(source))

    def cost(self, source: str) -> int:
        if not _SPECIAL.search(source):
            return 0
        return quick.COST if quick.is_simple(source) else len(source) + 80


def _last_space(text: str, end: int) -> int:
    """Where the last word before ``end`` begins."""
    return max(text.rfind(" ", 0, end), text.rfind("\n", 0, end)) + 1


def _is_balanced(text: str) -> bool:
    """Whether whatever opens in the text seems to be closed in it."""
    pairs = all(text.count(mark) % 2 == 0 for mark in "*_`$~")
    links = text.count("[") == text.count("]") and text.rfind("](") <= text.rfind(")")
    return pairs and links and text.rfind("\\(") <= text.rfind("\\)")
