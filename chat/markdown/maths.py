"""Where maths stands in a text: ``$…$``, ``$$…$$``, ``\\(…\\)``, ``\\[…\\]``, and what is money.

As rules for the parser: they find and mark, they do not convert.
"""

from __future__ import annotations

import re
from typing import Final

from markdown_it import MarkdownIt
from markdown_it.rules_block import StateBlock
from markdown_it.rules_inline import StateInline

_CLOSERS: Final = {"$$": "$$", "\\[": "\\]", "\\(": "\\)", "$": "$"}
_REACH: Final = 2_000  # how far a formula inside a text may go
_SIGNS = re.compile(r"[\\^_=+*/<>{}|]|\s-\s|^\s*[^\W\d_]\s*$")
_MONEY = re.compile(r"[-+]?\d[^\\^_=+*/<>]*\s[^\\^_=+*/<>]*")  # "5 and", "1,000 a month"
_TAIL = re.compile(r"[.,;:]?[ \t]*$")


def use(parser: MarkdownIt) -> None:
    """Teach the parser both rules."""
    parser.inline.ruler.before("escape", "math_inline", _inline)
    parser.block.ruler.before(
        "fence", "math_block", _block, {"alt": ["paragraph", "reference", "blockquote", "list"]}
    )


def _inline(state: StateInline, silent: bool) -> bool:
    source, begin = state.src, state.pos
    if source[begin] not in "$\\":
        return False
    opener = source[begin : begin + 2]
    opener = opener if opener in _CLOSERS else source[begin]
    closer = _CLOSERS.get(opener)
    if closer is None:
        return False
    inside = begin + len(opener)
    end = _end(source, inside, closer, min(state.posMax, inside + _REACH))
    content = source[inside:end]
    if end < 0 or not content.strip() or "`" in content:
        return False
    if opener == "$" and not _is_formula(source, begin, end):
        return False
    if opener == "\\[" and not _SIGNS.search(content):
        return False
    if not silent:
        token = state.push("math_inline", "math", 0)
        token.content = content
        token.markup = opener
        token.meta = {"display": opener in {"$$", "\\["}}
    state.pos = end + len(closer)
    return True


def _end(source: str, begin: int, closer: str, limit: int) -> int:
    """Where the closer stands that is none of LaTeX's own escaped dollars; -1 for nowhere."""
    end = source.find(closer, begin, limit)
    while closer[0] == "$" and end > begin and source[end - 1] == "\\":
        end = source.find(closer, end + 1, limit)
    return end


def _is_formula(source: str, begin: int, end: int) -> bool:
    """Whether the single dollars at ``begin`` and ``end`` mean maths.

    Pandoc's rule, no space inside them and no digit after, hardened against prices and shells.
    """
    content = source[begin + 1 : end]
    around = source[begin - 1 : begin] + source[end + 1 : end + 2]
    if content[0].isspace() or content[-1].isspace():
        return False
    if any(letter.isalnum() or letter == "$" for letter in around):
        return False
    return not _MONEY.fullmatch(content)


def _block(state: StateBlock, begin: int, end: int, silent: bool) -> bool:
    """Lines from one that opens to the one that closes, or to the paragraph's end.

    What never closes is a paragraph up to there, whatever its lines look like: where a block ends
    must not depend on lines that a growing text does not have yet.
    """
    if state.is_code_block(begin):
        return False
    first = _line(state, begin)
    opener = first[:2]
    if opener not in {"$$", "\\["}:
        return False
    closer = _CLOSERS[opener]
    found = first.find(closer, 2)
    if found >= 0:
        body = first[2:found].strip()
        if not body or not _TAIL.fullmatch(first[found + 2 :]):
            return False
        if opener == "\\[" and not _SIGNS.search(body):
            return False
    elif opener == "\\[" and first[2:].strip() and not _SIGNS.search(first[2:]):
        return False
    if silent:
        return True
    last = begin if found >= 0 else _last_line(state, begin + 1, end, closer)
    _push(state, begin, last, opener)
    return True


def _line(state: StateBlock, line: int) -> str:
    return state.src[state.bMarks[line] + state.tShift[line] : state.eMarks[line]]


def _last_line(state: StateBlock, line: int, end: int, closer: str) -> int:
    while line < end and not state.isEmpty(line) and state.sCount[line] >= state.blkIndent:
        if closer in _line(state, line):
            return line
        line += 1
    return line - 1


def _push(state: StateBlock, begin: int, last: int, opener: str) -> None:
    lines = [_line(state, line) for line in range(begin, last + 1)]
    source = "\n".join(lines)
    body, closer, tail = source[2:].partition(_CLOSERS[opener])
    state.line = last + 1
    if closer and body.strip() and _TAIL.fullmatch(tail):
        token = state.push("math_block", "math", 0)
        token.content = body.strip() + tail.strip()
        token.markup = opener
        token.map = [begin, state.line]
        return
    opened = state.push("paragraph_open", "p", 1)
    opened.map = [begin, state.line]
    inline = state.push("inline", "", 0)
    inline.content = source.strip()
    inline.map = [begin, state.line]
    inline.children = []
    state.push("paragraph_close", "p", -1)
