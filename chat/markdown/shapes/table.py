"""A table that is still being written."""

from __future__ import annotations

import re

from markdown_it.utils import EnvType

from chat.markdown import quick
from chat.markdown.reading import read, write, write_raw
from chat.markdown.sanitising import clean_rows
from chat.markdown.shapes.base import Shape

_ROW = re.compile(r" {0,3}(?:\||[^\W\d_])")


class Table(Shape):
    """Each finished row stands for itself."""

    marks = re.compile(r"[|\n]")
    bare = ("<tr><td>", "</td></tr>")
    after = "</tbody></table></div>\n"

    def __init__(self, definitions: EnvType, head: str) -> None:
        super().__init__(definitions)
        self._head = head
        whole = write(read(head), self._env(head))
        self.before = whole.partition("</table>")[0] + "<tbody>"
        cells = re.findall(r"<th( class=\"align-\w+\")?>", whole)
        self._cells = [f"<td{alignment}>" for alignment in cells]

    def goes_on(self, line: str, *, whole: bool, after_blank: bool) -> bool:
        return not whole or bool(_ROW.match(line))

    def cut(self, rest: str) -> int:
        return rest.rfind("\n") + 1

    def part(self, source: str) -> str:
        if quick.is_simple(source):
            return clean_rows("".join(map(self._row, source.strip("\n").split("\n"))))
        tokens = read(self._head + source)
        begin = next((i for i, t in enumerate(tokens) if t.type == "tbody_open"), len(tokens))
        end = next((i for i, t in enumerate(tokens) if t.type == "tbody_close"), len(tokens))
        return clean_rows(write_raw(tokens[begin + 1 : end], self._env(source)))

    def cost(self, source: str) -> int:
        if quick.is_simple(source):
            return quick.COST + len(source) // 8
        return len(self._head) + len(source) + 60

    def _row(self, line: str) -> str:
        texts = line.strip().removeprefix("|").removesuffix("|").split("|")
        texts += [""] * len(self._cells)
        cells = (
            f"{cell}{quick.marked(quick.closed(text.strip()))}</td>"
            for cell, text in zip(self._cells, texts, strict=False)
        )
        return f"<tr>{''.join(cells)}</tr>\n"
