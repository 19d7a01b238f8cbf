"""Running text shown for the moment: bold, italic and code as they are nearly always written.

The parser needs ten times as long to say the same about such simple words. What is not simple is
left to it, and what is finished is always its work, but for a paragraph of mere words.
"""

from __future__ import annotations

import re
from html import escape

from chat.markdown.sanitising import clean

COST = 15  # what it costs, in characters given to the parser
_NOT_SIMPLE = re.compile(r"[\\\[\]<~]|\$(?!\d)|``|\b_|_\b|&#?\w|  \n|\*\*\*")
_MARKED = re.compile(
    r"`(?P<code>[^`\n]+)`"
    r"|\*\*(?=\S)(?P<strong>[^*]+?)(?<=\S)\*\*"
    r"|(?<!\w)\*(?=\S)(?P<em>[^*]+?)(?<=\S)\*(?!\w)"
)
# One line that begins with a letter and the blank line that ends it, without anything that means
# something to the parser or to HTML.
_MEANS = r"\x00-\x1f\x7f-\xa0\\`*_~$\[\]<>&"
_PLAIN = re.compile(rf"\n*([^\W\d_](?:[^{_MEANS}]*[^{_MEANS}\s])?) *\n\n+")


def is_simple(text: str) -> bool:
    """Whether ``inline`` knows all that may stand in this text."""
    return not _NOT_SIMPLE.search(text)


def inline(text: str) -> str:
    """A simple text as clean HTML."""
    return clean(marked(text))


def marked(text: str) -> str:
    """The same, to be cleaned by who knows where it will stand."""
    return _marked(escape(text))


def closed(text: str) -> str:
    """The same, with an end for what is bold or code and has none yet."""
    if text.count("`") % 2:
        return f"{text}`"
    return f"{text}**" if text.count("**") % 2 else text


def _marked(escaped: str) -> str:
    return _MARKED.sub(_mark, escaped) if "*" in escaped or "`" in escaped else escaped


def _mark(found: re.Match[str]) -> str:
    tag = str(found.lastgroup)
    inside = found[tag]
    return f"<{tag}>{inside if tag == 'code' else _marked(inside)}</{tag}>"


def plain_paragraph(source: str) -> tuple[str, str]:
    """A whole paragraph of mere words at the beginning, as clean HTML, and what comes after it.

    Without one there is no HTML, and all of it is the rest.
    """
    found = _PLAIN.match(source)
    return (f'<p dir="auto">{found[1]}</p>\n', source[found.end() :]) if found else ("", source)
