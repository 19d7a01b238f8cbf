"""Text that grows, as HTML that grows with it.

Each character brings a fixed credit and each rendering costs what it reads: the whole stays a small
multiple of rendering once, and where credit is short the newest words stand as they were written.
"""

from __future__ import annotations

import re
from html import escape
from typing import Final

from django.utils.safestring import SafeString
from markdown_it.token import Token
from markdown_it.utils import EnvType

from chat.markdown import ends, notes
from chat.markdown.quick import plain_paragraph
from chat.markdown.reading import closing, read, references, write
from chat.markdown.shapes import WORDS, Paragraph, Shape, shape_of

_RATE: Final = 2.2
_START: Final = 2_000  # so that the first words are shown well at once
_OVERHEAD: Final = 60  # what rendering a block costs beside its text, in characters
_ENOUGH: Final = 100  # how much of a line that is not whole says what it begins
_YOUNG: Final = 6  # a line that short may still turn out to begin another block
_AFTER_BLANK = re.compile(r"(?:^|\n)[ \t]*\n\Z")
_MANY: Final = 64  # pieces are put together when there are more: to join them has its cost
_HERE: Final = "\ue000"  # marks in rendered text where the next words will stand


class Live:
    """A growing text. ``blocks`` are finished and never change; ``open`` is the rest so far.

    ``open`` always shows every character; where it is not settled, approximately. A link or note
    whose definition comes after its block stands as it was written; ``finish`` puts that right.
    """

    def __init__(self) -> None:
        self.blocks: list[SafeString] = []
        self._sources: list[str] = []
        self._definitions: EnvType = {"references": {}}
        self._labels: list[str] = []
        self._late = False
        self._credit = float(_START)
        self._held = ""
        self._begin("")

    def _begin(self, tail: str) -> None:
        """Nothing is known about the tail yet."""
        self._tail = tail
        self._fresh: list[str] = []
        self._line = tail.rfind("\n") + 1
        self._column = len(tail) - self._line
        self._after_blank = bool(_AFTER_BLANK.search(tail[: self._line]))
        self._due = False
        self._take_shape(Shape(self._definitions), 0)

    def _take_shape(self, shape: Shape, cut: int) -> None:
        self._shape = shape
        self._done = ""
        self._cut = cut
        self._look_at = 0
        self._show_plain(cut, *shape.bare)

    def _show_plain(self, begin: int, head: str, foot: str) -> None:
        """The tail from there on as it was written, between what is rendered."""
        self._head, self._foot = head, foot
        self._shown = begin
        self._plain = [escape(self._tail[begin:])]

    @property
    def open(self) -> SafeString:
        """What is not finished, as HTML that is complete in itself."""
        shape = self._shape
        if len(self._plain) > _MANY:
            self._plain = ["".join(self._plain)]
        if not (_says(self._tail) or any(map(_says, self._plain))):
            return SafeString("")
        # Each of these is escaped, clean, or a shape's own. Once copied, whatever its length.
        parts = shape.before, self._done, self._head, *self._plain, self._foot, shape.after
        return SafeString("".join(parts))

    def feed(self, text: str) -> None:
        """Take the next piece."""
        if self._held or "\r" in text or "\0" in text:
            text = self._in_lines(text)
        self._fresh.append(text)
        self._plain.append(escape(text))
        self._credit += _RATE * len(text)
        looks = self._column < _YOUNG or self._shape.marks.search(text)
        end = text.rfind("\n") + 1
        self._column = len(text) - end + (0 if end else self._column)
        if looks or self._due:
            self._work()

    def _in_lines(self, text: str) -> str:
        """The parser's idea of a line; half of a line's end waits for the other."""
        text = self._held + text
        self._held = "\r" if text.endswith("\r") else ""
        text = text.removesuffix("\r").replace("\r\n", "\n").replace("\r", "\n")
        return text.replace("\0", "\ufffd")

    def _work(self) -> None:
        if self._due and self._credit < len(self._tail) + _OVERHEAD:
            return
        self._tail += "".join(self._fresh)
        self._fresh.clear()
        if type(self._shape) is Shape:
            self._guess()
        self._due = self._due or self._may_end()
        if self._due and self._pays(len(self._tail)):
            self._settle()
        self._show()

    def _guess(self) -> None:
        """Most blocks are paragraphs, and those can be told by their first letters."""
        text = self._tail.lstrip("\n")
        if WORDS.match(text) and "\n" not in text:
            self._tail, self._line = text, 0
            self._take_shape(Paragraph(self._definitions), 0)

    def _may_end(self) -> bool:
        """Whether one of the lines that came may be the end of the open block."""
        while True:
            end = self._tail.find("\n", self._line)
            line = self._tail[self._line : end if end >= 0 else self._line + _ENOUGH]
            goes_on = self._shape.goes_on(line, whole=end >= 0, after_blank=self._after_blank)
            if not goes_on and (line.strip() or end >= 0):
                return True
            if end < 0:
                return False
            self._line = end + 1
            self._after_blank = not line.strip()

    def _settle(self) -> None:
        words, rest = plain_paragraph(self._tail)
        if words:
            self.blocks.append(SafeString(words))
            self._sources.append("")
            self._begin(rest)
            self._guess()
            return
        tokens = read(self._tail)
        begins = ends.starts(tokens)
        count = ends.settled(tokens, begins, self._tail)
        rest = self._keep(tokens, begins, count)
        opening = tokens[begins[count] :] if count < len(begins) else []
        shape, cut = shape_of(opening, rest, self._definitions)
        if count or shape.key() != self._shape.key():
            self._begin(rest)
            self._take_shape(shape, cut)
        self._line = rest.rfind("\n") + 1
        self._due = False

    def _keep(self, tokens: list[Token], begins: list[int], count: int) -> str:
        """Render the first ``count`` blocks for good; the text from the next one on."""
        edges = [*begins, len(tokens)]
        places = [ends.offset(self._tail, ends.line_of(tokens[i])) for i in begins[: count + 1]]
        places = places if count < len(begins) else [*places, len(self._tail)]
        for name, definition in references(tokens[: edges[count]]).items():
            self._late = self._late or any(self._sources)
            self._definitions["references"].setdefault(name, definition)
        for number in range(count):
            source = self._tail[places[number] : places[number + 1]]
            block = tokens[edges[number] : edges[number + 1]]
            self._late = self._late or "[^" in source
            self._labels += notes.labels(block)
            self._sources.append(source if "[" in source else "")
            self.blocks.append(write(block, notes.expecting(source, self._definitions)))
        return self._tail[places[count] :] if begins else self._tail

    def _show(self) -> None:
        """Turn what is finished in the open block into parts, and render what is not."""
        if len(self._tail) < self._look_at:
            return
        rest = self._tail[self._cut :]
        size = self._shape.cut(rest)
        if size and self._spares(self._shape.cost(rest[:size])):
            self._done += self._shape.part(rest[:size])
            self._cut += size
            self._show_plain(self._cut, *self._shape.bare)
            rest = rest[size:]
        is_new = not self._tail[self._shown :].isspace() and self._shown < len(self._tail)
        cost = self._shape.cost(rest) if is_new else 0
        if cost and self._spares(cost):
            rest = rest.rstrip("\n")
            self._show_plain(self._cut + len(rest), *self._rendered(rest))
        # Looking costs as well: a rest that stays what it is, is looked at ever more seldom.
        self._look_at = len(self._tail) + len(rest) // 16

    def _rendered(self, rest: str) -> tuple[str, str]:
        """The rest as HTML before and after the place where the next words will stand."""
        if _HERE in rest:
            return self._shape.rest(rest), ""
        before, _, after = self._shape.rest(rest + _HERE).partition(_HERE)
        return before, after

    def _pays(self, size: int) -> bool:
        """Take what reading so much costs out of the credit, if it is there."""
        if self._credit < size + _OVERHEAD:
            return False
        self._credit -= size + _OVERHEAD
        return True

    def _spares(self, cost: int) -> bool:
        """The same for a part, but what finishing the block will cost stays untouched."""
        if cost and self._credit - len(self._tail) - _OVERHEAD < cost:
            return False
        self._credit -= cost
        return True

    def finish(self) -> SafeString:
        """All of it as ``render`` would have it; there is nothing to be fed after this."""
        self._tail += "".join(self._fresh) + ("\n" if self._held else "")
        self._held = ""
        tokens = read(self._tail)
        begins = ends.starts(tokens)
        self._keep(tokens, begins, len(begins))
        self._begin("")
        if self._late:
            self._put_right()
        return SafeString("".join(self.blocks))

    def _put_right(self) -> None:
        """Now that all definitions are known: links and notes, wherever one may stand."""
        env = {**self._definitions, **notes.known(self._labels)}
        said: dict[str, list[Token]] = {}
        for number, source in enumerate(self._sources):
            if source:
                text, found = notes.take_out(read(source))
                said |= found
                self.blocks[number] = write(text, env)
        self.blocks.append(closing(said, env))
        self._sources.clear()
        self._late = False


def _says(text: str) -> bool:
    return bool(text) and not text.isspace()
