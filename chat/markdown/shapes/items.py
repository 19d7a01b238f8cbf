"""A list that is still being written."""

from __future__ import annotations

import re

from markdown_it.token import Token
from markdown_it.utils import EnvType

from chat.markdown import quick
from chat.markdown.reading import read, write
from chat.markdown.sanitising import clean
from chat.markdown.shapes.base import WORDS, Shape


class Items(Shape):
    """An item is finished when the next has begun."""

    bare = ('<li dir="auto">', "</li>")

    def __init__(self, definitions: EnvType, token: Token, *, loose: bool) -> None:
        super().__init__(definitions)
        start = token.attrGet("start")
        self.before = f'<ol start="{start}">\n' if start is not None else f"<{token.tag}>\n"
        self.after = f"</{token.tag}>\n"
        marker = (r"\d{1,9}" if token.tag == "ol" else "") + re.escape(token.markup)
        self._item = re.compile(rf"^ ?{marker} +(?=\S)", re.MULTILINE)
        self._loose = loose
        self._frame = ('<li dir="auto"><p dir="auto">', "</p></li>\n") if loose else self.bare

    def key(self) -> object:
        return type(self), self.before, self._loose

    def goes_on(self, line: str, *, whole: bool, after_blank: bool) -> bool:
        if self._item.match(line) or not line.strip() or line.startswith(("  ", "\t")):
            return True
        if WORDS.match(line):
            return not after_blank
        return not whole

    def cut(self, rest: str) -> int:
        last = 0
        for found in self._item.finditer(rest):
            last = found.start()
        return last

    def part(self, source: str) -> str:
        texts = self._simple(source)
        if texts:
            before, after = self._frame
            return clean("".join(f"{before}{quick.marked(text)}{after}" for text in texts))
        tokens = [token for token in read(source) if token.level > 0]
        if self._loose:
            for token in tokens:
                token.hidden = token.hidden and token.level != 2
        return write(tokens, self._env(source))

    def rest(self, source: str) -> str:
        return self.part(quick.closed(source) if self._simple(source) else source)

    def cost(self, source: str) -> int:
        if self._simple(source):
            return quick.COST + len(source) // 8
        return len(source) + 60

    def _simple(self, source: str) -> list[str]:
        """What the items say, if each is a line of simple words."""
        if not quick.is_simple(source):
            return []
        texts = []
        for line in filter(str.strip, source.split("\n")):
            found = self._item.match(line)
            if found is None or not WORDS.match(line, found.end()):
                return []
            texts.append(line[found.end() :].rstrip())
        return texts
