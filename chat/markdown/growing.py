"""The block that is still being written, shown part by part: what is finished in it stays.

A shape knows where parts end, how one looks, and which line may be the last. What it shows is for
the moment; the finished block is rendered anew and in one piece.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from html import escape
from typing import ClassVar

from markdown_it.token import Token
from markdown_it.utils import EnvType

from chat.markdown import colouring, notes
from chat.markdown.reading import read, write, write_raw
from chat.markdown.rules import code_frame
from chat.markdown.sanitising import clean, clean_rows

# A line that begins so goes on with the paragraph before it and is no block of another kind.
WORDS = re.compile(
    r" {0,3}(?:[^\W\d_]|[*_]{1,2}\w|[\"'(“‘«¿¡„]|`[^`]|\$[^$]|\d+[^\d.)]|[^\x00-\x7f\W])"
)
# A line that begins so begins a block, however it goes on.
STARTS = re.compile(r" {0,3}(?:[-+*] +[^\s*_+-]|1[.)] +\S|#{1,6} +\S|>)")


class Shape:
    """A block about which nothing is known but its text: it is rendered whole, each time."""

    before = ""
    after = ""
    bare: tuple[str, str] = ("", "")  # what stands around text that nobody rendered yet
    overhead = 30  # what rendering a part costs beside its text, in characters
    marks: ClassVar[re.Pattern[str]] = re.compile(r"[^\w\s,.;:()'\"/?%@=-]|\n")

    def __init__(self, definitions: EnvType) -> None:
        self._definitions = definitions

    def key(self) -> object:
        """Two shapes of the same key show the same block in the same way."""
        return type(self)

    def goes_on(self, line: str, *, whole: bool, after_blank: bool) -> bool:
        """Whether this line is certainly a part of the block."""
        return False

    def cut(self, rest: str) -> int:
        """How many characters of the rest are finished."""
        return 0

    def part(self, source: str) -> str:
        """A finished part as clean HTML."""
        raise NotImplementedError

    def rest(self, source: str) -> str:
        """What is not finished, as clean HTML. ``source`` may end within anything."""
        return write(read(source), self._env(source))

    def costs(self, source: str) -> bool:
        """Whether a part of this source has to be parsed at all."""
        return True

    def _env(self, source: str) -> EnvType:
        return notes.expecting(source, self._definitions)


class Paragraph(Shape):
    """Running text, finished up to the last word that stands outside all emphasis and links."""

    before = '<p dir="auto">'
    after = "</p>\n"
    overhead = 80
    _SPECIAL = re.compile(r"[\\`*_~$\[\]<&]|  \n")
    marks = re.compile(r"[\\`*_~$\[\]<&\n]")
    _LONG = 600

    def goes_on(self, line: str, *, whole: bool, after_blank: bool) -> bool:
        return bool(WORDS.match(line)) if whole else not STARTS.match(line)

    def cut(self, rest: str) -> int:
        mark = self._SPECIAL.search(rest)
        end = max(
            rest.rfind(" ", 0, mark and mark.start()), rest.rfind("\n", 0, mark and mark.start())
        )
        if mark is None or end >= 0:
            return end + 1
        end = max(rest.rfind(" "), rest.rfind("\n")) + 1
        return end if len(rest) > self._LONG or _is_balanced(rest[:end]) else 0

    def part(self, source: str) -> str:
        return self.rest(source) if self.costs(source) else escape(source)

    def rest(self, source: str) -> str:
        inline = Token("inline", "", 0, content=source, children=[])
        return write([inline], self._env(source))

    def costs(self, source: str) -> bool:
        return bool(self._SPECIAL.search(source))


def _last_space(text: str, end: int) -> int:
    """Where the last word before ``end`` begins."""
    return max(text.rfind(" ", 0, end), text.rfind("\n", 0, end)) + 1


def _is_balanced(text: str) -> bool:
    """Whether whatever opens in the text seems to be closed in it."""
    pairs = all(text.count(mark) % 2 == 0 for mark in "*_`$~")
    return pairs and text.count("[") == text.count("]") and text.rfind("](") <= text.rfind(")")


class Code(Shape):
    """A fence: every line is finished, but not within a string or comment of many lines."""

    marks = re.compile(r"\n")
    _SPANNING = ('"""', "'''", "`")
    _LONG = 2_000

    def __init__(self, definitions: EnvType, token: Token) -> None:
        super().__init__(definitions)
        self._language = colouring.label(token.info)
        self.before, self.after = code_frame(self._language)
        self._end = re.compile(rf" {{0,3}}{re.escape(token.markup)}{token.markup[0]}*[ \t]*$")

    def goes_on(self, line: str, *, whole: bool, after_blank: bool) -> bool:
        return not whole or not self._end.match(line)

    def cut(self, rest: str) -> int:
        end = rest.rfind("\n") + 1
        lines = rest[:end]
        apart = all(lines.count(mark) % 2 == 0 for mark in self._SPANNING)
        apart = apart and lines.count("/*") <= lines.count("*/")
        return end if apart or end > self._LONG else 0

    def part(self, source: str) -> str:
        return clean(colouring.colour(source, self._language))

    def rest(self, source: str) -> str:
        return self.part(source)

    def costs(self, source: str) -> bool:
        return bool(self._language)


class Table(Shape):
    """Rows: each finished one stands for itself."""

    marks = re.compile(r"[|\n]")
    bare = ("<tr><td>", "</td></tr>")
    _ROW = re.compile(r" {0,3}(?:\||[^\W\d_])")

    def __init__(self, definitions: EnvType, head: str) -> None:
        super().__init__(definitions)
        self._head = head
        table = write(read(head), self._env(head))
        self.before, _, _ = table.partition("</table>")
        self.before += "<tbody>"
        self.after = "</tbody></table></div>\n"

    def goes_on(self, line: str, *, whole: bool, after_blank: bool) -> bool:
        return not whole or bool(self._ROW.match(line))

    def cut(self, rest: str) -> int:
        return rest.rfind("\n") + 1

    def part(self, source: str) -> str:
        tokens = read(self._head + source)
        begin = next((i for i, t in enumerate(tokens) if t.type == "tbody_open"), len(tokens))
        end = next((i for i, t in enumerate(tokens) if t.type == "tbody_close"), len(tokens))
        return clean_rows(write_raw(tokens[begin + 1 : end], self._env(source)))

    def rest(self, source: str) -> str:
        return self.part(source)


class List(Shape):
    """Items: one is finished when the next has begun."""

    bare = ('<li dir="auto">', "</li>")

    def __init__(self, definitions: EnvType, token: Token, *, loose: bool) -> None:
        super().__init__(definitions)
        ordered = token.tag == "ol"
        start = token.attrGet("start")
        self.before = f'<ol start="{start}">\n' if start is not None else f"<{token.tag}>\n"
        self.after = f"</{token.tag}>\n"
        marker = r"\d{1,9}" + re.escape(token.markup) if ordered else re.escape(token.markup)
        self._item = re.compile(rf"^ ?{marker} +\S", re.MULTILINE)
        self._loose = loose

    def key(self) -> object:
        return type(self), self.before, self._loose

    def goes_on(self, line: str, *, whole: bool, after_blank: bool) -> bool:
        if self._item.match(line) or not line.strip():
            return True
        if line.startswith(("  ", "\t")):
            return True
        words = bool(WORDS.match(line))
        return not after_blank and words if words or whole else True

    def cut(self, rest: str) -> int:
        last = 0
        for found in self._item.finditer(rest):
            last = found.start()
        return last

    def part(self, source: str) -> str:
        tokens = [token for token in read(source) if token.level > 0]
        if self._loose:
            for token in tokens:
                token.hidden = token.hidden and token.level != 2
        return write(tokens, self._env(source))

    def rest(self, source: str) -> str:
        return self.part(source)


def shape_of(tokens: list[Token], source: str, definitions: EnvType) -> tuple[Shape, int]:
    """The shape of an open block, and how much of its source that has shown already."""
    first = tokens[0] if tokens else None
    if first is None or any(token.level == 0 and token.nesting >= 0 for token in tokens[1:]):
        return Shape(definitions), 0
    make = _SHAPES.get(first.type)
    return (make(first, tokens, source, definitions) if make else None) or (Shape(definitions), 0)


def _paragraph(
    first: Token, tokens: list[Token], source: str, definitions: EnvType
) -> tuple[Shape, int] | None:
    return (Paragraph(definitions), 0) if WORDS.match(source) else None


def _code(
    first: Token, tokens: list[Token], source: str, definitions: EnvType
) -> tuple[Shape, int] | None:
    return (Code(definitions, first), source.find("\n") + 1) if "\n" in source else None


def _table(
    first: Token, tokens: list[Token], source: str, definitions: EnvType
) -> tuple[Shape, int] | None:
    end = source.find("\n", source.find("\n") + 1) + 1
    return (Table(definitions, source[:end]), end) if end else None


def _list(
    first: Token, tokens: list[Token], source: str, definitions: EnvType
) -> tuple[Shape, int] | None:
    loose = any(t.type == "paragraph_open" and t.level == 2 and not t.hidden for t in tokens)
    return List(definitions, first, loose=loose), 0


_Maker = Callable[[Token, list[Token], str, EnvType], "tuple[Shape, int] | None"]
_SHAPES: dict[str, _Maker] = {
    "paragraph_open": _paragraph,
    "fence": _code,
    "table_open": _table,
    "bullet_list_open": _list,
    "ordered_list_open": _list,
}
