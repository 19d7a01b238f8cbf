"""Markdown to sanitised HTML, once for every surface: stream, history, share, export.

``render`` is for finished text. ``Live`` is for text that grows: finished blocks are rendered once,
only the open last block changes.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from itertools import islice, pairwise
from urllib.parse import urlsplit

import nh3
from django.utils.html import escape
from django.utils.safestring import SafeString, mark_safe
from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.token import Token
from markdown_it.utils import EnvType, OptionsDict
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import get_lexer_by_name
from pygments.util import ClassNotFound

_HIGHLIGHT_LIMIT = 20_000
_NEWLINE = re.compile(r"\r\n?|\n")  # the parser's own idea of one; str.splitlines() knows more
_TAGS = {
    "a", "blockquote", "br", "code", "del", "div", "em", "figcaption", "figure", "h3", "h4", "h5",
    "h6", "hr", "li", "ol", "p", "pre", "s", "span", "strong", "table", "tbody", "td", "th",
    "thead", "tr", "ul",
}  # fmt: skip
_ATTRIBUTES = {
    "a": {"href"},
    "code": {"class"},
    "div": {"class", "tabindex"},
    "figure": {"class"},
    "ol": {"start"},
    "pre": {"dir", "tabindex"},
    "span": {"class"},
    "td": {"class"},
    "th": {"class"},
    **{tag: {"dir"} for tag in ("p", "li", "blockquote", "h3", "h4", "h5", "h6")},
}
_CLEANER = nh3.Cleaner(
    tags=_TAGS,
    attributes=_ATTRIBUTES,
    url_schemes={"http", "https", "mailto"},
    url_relative="deny",  # an answer has no place from which it could lead into the house
    link_rel="noopener noreferrer nofollow",
)


def render(text: str) -> SafeString:
    """The finished text as HTML that is safe on any page."""
    return _finish(_parser().render(text))


def _finish(html: str) -> SafeString:
    # nh3 keeps nothing outside the allow-list above.
    return mark_safe(_CLEANER.clean(html))  # noqa: S308 - sanitised on this line


class Live:
    """A growing text. ``blocks`` are finished and never change; ``open`` is the rest so far."""

    def __init__(self) -> None:
        self.blocks: list[SafeString] = []
        self.open = SafeString("")
        self._tail = ""

    def feed(self, text: str) -> None:
        """Take the next piece. Cost depends on the open block, not on the length of the answer."""
        self._tail += text
        parser = _parser()
        env: EnvType = {}
        tokens = parser.parse(self._tail, env)
        starts = [
            index for index, token in enumerate(tokens) if token.level == 0 and token.nesting >= 0
        ]
        settled = self._settled(tokens, starts)
        for begin, end in pairwise(starts[: settled + 1]):
            self.blocks.append(self._html(parser, tokens[begin:end], env))
        if settled:
            tokens = tokens[starts[settled] :]
            self._tail = self._from(tokens[0])
        self.open = self._html(parser, tokens, env)

    def _settled(self, tokens: Sequence[Token], starts: Sequence[int]) -> int:
        """How many blocks stay what they are, whatever follows.

        The last one never does. Nor does the one before, as long as the line that ends it may yet
        turn out to be a part of it: ``***`` of bold words, ``2`` of the next item.
        """
        if not starts:
            return 0
        rest = self._from(tokens[starts[-1]])
        decided = _NEWLINE.search(rest) or rest.lstrip(" ")[:1].isalpha()
        return max(0, len(starts) - (1 if decided else 2))

    def _from(self, token: Token) -> str:
        """The tail from the line on which ``token`` begins."""
        line = token.map[0] if token.map else 0
        ends = (found.end() for found in _NEWLINE.finditer(self._tail))
        return self._tail[next(islice(ends, line - 1, None)) if line else 0 :]

    @staticmethod
    def _html(parser: MarkdownIt, tokens: Sequence[Token], env: EnvType) -> SafeString:
        return _finish(parser.renderer.render(tokens, parser.options, env))


@lru_cache(maxsize=1)
def _parser() -> MarkdownIt:
    parser = MarkdownIt("commonmark", {"html": False, "linkify": False, "typographer": False})
    parser.enable(["table", "strikethrough"])
    parser.disable("image")
    for name, rule in _RULES.items():
        parser.add_render_rule(name, rule)
    return parser


def _fence(
    self: RendererHTML, tokens: Sequence[Token], idx: int, options: OptionsDict, env: EnvType
) -> str:
    token = tokens[idx]
    language = token.info.split(maxsplit=1)[0][:40] if token.info.strip() else ""
    head = f"<figcaption>{escape(language)}</figcaption>" if language else ""
    return (
        f'<figure class="code">{head}<pre dir="ltr" tabindex="0"><code>'
        f"{_highlight(token.content, language)}</code></pre></figure>\n"
    )


def _highlight(code: str, language: str) -> str:
    if not language or len(code) > _HIGHLIGHT_LIMIT:
        return escape(code)
    try:
        lexer = get_lexer_by_name(language, stripnl=False)
    except ClassNotFound:
        return escape(code)
    return str(highlight(code, lexer, HtmlFormatter(nowrap=True)))


def _heading(
    self: RendererHTML, tokens: Sequence[Token], idx: int, options: OptionsDict, env: EnvType
) -> str:
    """The page's own headings are h1 and h2; an answer's begin below them."""
    token = tokens[idx]
    level = min(6, int(token.tag[1]) + 2)
    return f'<h{level} dir="auto">' if token.nesting == 1 else f"</h{level}>\n"


def _with_direction(
    self: RendererHTML, tokens: Sequence[Token], idx: int, options: OptionsDict, env: EnvType
) -> str:
    tokens[idx].attrSet("dir", "auto")
    return self.renderToken(tokens, idx, options, env)


def _table_open(
    self: RendererHTML, tokens: Sequence[Token], idx: int, options: OptionsDict, env: EnvType
) -> str:
    return '<div class="table" tabindex="0"><table>\n'


def _table_close(
    self: RendererHTML, tokens: Sequence[Token], idx: int, options: OptionsDict, env: EnvType
) -> str:
    return "</table></div>\n"


def _cell(
    self: RendererHTML, tokens: Sequence[Token], idx: int, options: OptionsDict, env: EnvType
) -> str:
    token = tokens[idx]
    style = str(token.attrs.pop("style", ""))
    if style.startswith("text-align:"):
        token.attrSet("class", f"align-{style.removeprefix('text-align:')}")
    return self.renderToken(tokens, idx, options, env)


def _link_close(
    self: RendererHTML, tokens: Sequence[Token], idx: int, options: OptionsDict, env: EnvType
) -> str:
    """A link shows where it leads, unless its words say so already."""
    depth = idx
    while tokens[depth].type != "link_open":
        depth -= 1
    words = "".join(token.content for token in tokens[depth:idx])
    host = _host(str(tokens[depth].attrGet("href") or ""))
    shown = f' <span class="host">({escape(host)})</span>' if host and host not in words else ""
    return f"</a>{shown}"


def _host(address: str) -> str:
    try:
        return urlsplit(address).hostname or ""
    except ValueError:
        return ""


_RULES = {
    "fence": _fence,
    "heading_open": _heading,
    "heading_close": _heading,
    "paragraph_open": _with_direction,
    "list_item_open": _with_direction,
    "blockquote_open": _with_direction,
    "table_open": _table_open,
    "table_close": _table_close,
    "th_open": _cell,
    "td_open": _cell,
    "link_close": _link_close,
}
