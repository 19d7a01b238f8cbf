"""Code to coloured HTML. Every cost here is linear in the code's length."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import Final

from django.utils.html import escape
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexer import Lexer
from pygments.lexers import get_lexer_by_name
from pygments.util import ClassNotFound

# Some lexers need a time that grows with the square of what they read at once.
PORTION: Final = 20_000
_LINE_LIMIT: Final = 2_000


def label(info: str) -> str:
    """The language that a fence's opening line names, "" for none."""
    return info.split(maxsplit=1)[0][:40] if info.strip() else ""


def knows(language: str) -> bool:
    """Whether there are colours for it."""
    return bool(language) and _lexer(language) is not None


def colour(code: str, language: str) -> str:
    """The code as HTML: coloured where the language is known, else only escaped.

    Long code is coloured portion by portion, so a string or comment that spans the end of one
    may lose its colour there.
    """
    lexer = _lexer(language) if language else None
    if lexer is None:
        return escape(code)
    return "".join(_coloured(portion, lexer) for portion in _portions(code))


def _coloured(code: str, lexer: Lexer) -> str:
    if len(code) > PORTION or any(len(line) > _LINE_LIMIT for line in code.split("\n")):
        return escape(code)
    return str(highlight(code, lexer, _formatter()))


def _portions(code: str) -> Iterator[str]:
    """Whole lines, as many as fit; a line longer than that is a portion of its own."""
    begin = 0
    while len(code) - begin > PORTION:
        end = code.rfind("\n", begin, begin + PORTION) + 1
        end = end or code.find("\n", begin) + 1 or len(code)
        yield code[begin:end]
        begin = end
    if begin < len(code):
        yield code[begin:]


@lru_cache(maxsize=1)
def _formatter() -> HtmlFormatter[str]:
    """Made once: it works out its styles, which takes longer than colouring a line."""
    return HtmlFormatter(nowrap=True)


@lru_cache(maxsize=128)
def _lexer(language: str) -> Lexer | None:
    try:
        # Whatever a lexer does at the ends of its input must not depend on where portions end.
        return get_lexer_by_name(language, stripnl=False, ensurenl=False)
    except ClassNotFound:
        return None
