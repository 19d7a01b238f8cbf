"""A fence that is still open."""

from __future__ import annotations

import re

from markdown_it.token import Token
from markdown_it.utils import EnvType

from chat.markdown import colouring
from chat.markdown.rules import code_frame
from chat.markdown.sanitising import clean
from chat.markdown.shapes.base import Shape

_SPANNING = ('"""', "'''", "`")
_LONG = 2_000
_FENCE = re.compile(r"\n {0,3}[`~]")


class Code(Shape):
    """Every whole line is finished, but not within a string or comment of many lines."""

    marks = re.compile(r"\n")

    def __init__(self, definitions: EnvType, token: Token) -> None:
        super().__init__(definitions)
        self._language = colouring.label(token.info)
        self._is_coloured = colouring.knows(self._language)
        if not self._is_coloured:
            self.marks = _FENCE
        self.before, self.after = code_frame(self._language)
        self._end = re.compile(rf" {{0,3}}{re.escape(token.markup)}{token.markup[0]}*[ \t]*$")

    def goes_on(self, line: str, *, whole: bool, after_blank: bool) -> bool:
        return not whole or not self._end.match(line)

    def cut(self, rest: str) -> int:
        if not self._is_coloured:
            return 0  # it stands as it will stand
        end = rest.rfind("\n") + 1
        lines = rest[:end]
        apart = all(lines.count(mark) % 2 == 0 for mark in _SPANNING)
        apart = apart and lines.count("/*") <= lines.count("*/")
        return end if apart or end > _LONG else 0

    def part(self, source: str) -> str:
        return clean(colouring.colour(source, self._language))

    def cost(self, source: str) -> int:
        # A line is not worth colouring before it is whole.
        return len(source) + 30 if self._is_coloured and "\n" in source else 0
