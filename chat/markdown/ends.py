"""Which blocks of a text that still grows stay what they are, whatever follows."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import islice

from markdown_it.token import Token

from chat.markdown.shapes import STARTS

_LETTER = re.compile(r" *[^\W\d_]")
_BLANK_END = re.compile(r"\n[ \t]*\n\Z")
_TITLE = re.compile(r"[ \t]*[\"'(]")
_LAST_AT_ONCE = {"heading_open", "hr", "fence", "math_block"}
_LAST_AFTER_BLANK = {"paragraph_open", "table_open", "blockquote_open", "definition"}


def starts(tokens: Sequence[Token]) -> list[int]:
    """The indexes of the tokens with which the outermost blocks begin."""
    return [i for i, token in enumerate(tokens) if token.level == 0 and token.nesting >= 0]


def settled(tokens: Sequence[Token], begins: Sequence[int], text: str) -> int:
    """How many of the blocks are settled, from the first on.

    The last one may go on, unless it is of a kind that cannot. The one before is settled when the
    line that ends it can no longer turn out to be a part of it: ``***`` of bold words, ``2`` of
    the next item, the title of a definition.
    """
    if not begins:
        return 0
    if _is_closed(tokens[begins[-1]], text):
        return len(begins)
    if len(begins) == 1:
        return 0
    rest = text[offset(text, line_of(tokens[begins[-1]])) :]
    return len(begins) - (1 if _is_begun(tokens[begins[-2]], tokens[begins[-1]], rest) else 2)


def _is_begun(before: Token, last: Token, rest: str) -> bool:
    """Whether ``rest`` is certainly the beginning of a block of its own."""
    if last.type == "table_open" and rest.count("\n") < 2:
        return False
    if before.type == "definition" and _TITLE.match(rest):
        return False
    return bool("\n" in rest or _LETTER.match(rest) or STARTS.match(rest))


def _is_closed(last: Token, text: str) -> bool:
    if not text.endswith("\n"):
        return False
    if last.type == "fence":
        begin, end = last.map or (0, 0)
        return end - begin == last.content.count("\n") + 2
    if last.type in _LAST_AT_ONCE:
        return True
    return last.type in _LAST_AFTER_BLANK and bool(_BLANK_END.search(text))


def line_of(token: Token) -> int:
    """The line on which a block begins."""
    return token.map[0] if token.map else 0


def offset(text: str, line: int) -> int:
    """Where a line begins in the text."""
    ends = (found.end() for found in re.finditer("\n", text))
    return next(islice(ends, line - 1, None)) if line else 0
