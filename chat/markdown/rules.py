"""How each piece of Markdown is written as HTML, where that differs from the parser's own way."""

from __future__ import annotations

from collections.abc import Sequence
from urllib.parse import urlsplit

from django.utils.html import escape
from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.token import Token
from markdown_it.utils import EnvType, OptionsDict

from chat.markdown import colouring
from chat.markdown.mathml import mathml

_EDGES = {"list_item_open", "list_item_close"}


def use(parser: MarkdownIt) -> None:
    """Teach them to the parser's renderer."""
    for name, rule in _RULES.items():
        parser.add_render_rule(name, rule)


def numbers_as_text(tokens: Sequence[Token]) -> list[Token]:
    """The same blocks, but an ordered list that holds nothing but its numbers is a paragraph.

    Whoever asked for a year and is answered ``1020.`` wants to read it, and to copy it as well.
    """
    written: list[Token] = []
    begin = 0
    for token in tokens:
        if token.type == "ordered_list_open":
            begin = len(written)
        written.append(token)
        if token.type == "ordered_list_close":
            inside = written[begin + 1 : -1]
            if inside and all(each.type in _EDGES and not each.meta for each in inside):
                lines = [f"{each.info}{each.markup}" for each in inside if each.nesting == 1]
                written[begin:] = _lines(lines, token.level)
    return written


def _lines(lines: Sequence[str], level: int) -> list[Token]:
    """A paragraph of these lines. Nothing in them means anything to the parser."""
    content = Token("inline", "", 0, level=level + 1, children=[], content="  \n".join(lines))
    opening = Token("paragraph_open", "p", 1, block=True, level=level)
    return [opening, content, Token("paragraph_close", "p", -1, block=True, level=level)]


def _fence(
    self: RendererHTML, tokens: Sequence[Token], idx: int, options: OptionsDict, env: EnvType
) -> str:
    token = tokens[idx]
    language = colouring.label(token.info)
    before, after = code_frame(language)
    return f"{before}{colouring.colour(token.content, language)}{after}"


def code_frame(language: str) -> tuple[str, str]:
    """What stands around code: a figure with the language as its label."""
    label = f"<figcaption>{escape(language)}</figcaption>" if language else ""
    before = f'<figure class="code">{label}<pre dir="ltr" tabindex="0"><code>'
    return before, "</code></pre></figure>\n"


def _math(
    self: RendererHTML, tokens: Sequence[Token], idx: int, options: OptionsDict, env: EnvType
) -> str:
    """As MathML; as its source where that is broken."""
    token = tokens[idx]
    is_block = token.type == "math_block"
    converted = mathml(token.content, display=is_block or bool(token.meta["display"]))
    if converted is None:
        closer = {"$": "$", "$$": "$$", "\\(": "\\)", "\\[": "\\]"}[token.markup]
        converted = f"<code>{escape(token.markup + token.content + closer)}</code>"
    return f'<div class="math" tabindex="0">{converted}</div>\n' if is_block else converted


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


def _list_item(
    self: RendererHTML, tokens: Sequence[Token], idx: int, options: OptionsDict, env: EnvType
) -> str:
    """An item of a task list begins with its box. A picture of one: an answer has no controls."""
    checked = tokens[idx].meta.get("checked")
    if checked is None:
        return '<li dir="auto">'
    return f'<li class="task" dir="auto"><span class="box">{"☑" if checked else "☐"}</span> '


def _nothing(
    self: RendererHTML, tokens: Sequence[Token], idx: int, options: OptionsDict, env: EnvType
) -> str:
    return ""


_RULES = {
    "definition": _nothing,
    "fence": _fence,
    "math_block": _math,
    "math_inline": _math,
    "heading_open": _heading,
    "heading_close": _heading,
    "paragraph_open": _with_direction,
    "list_item_open": _list_item,
    "blockquote_open": _with_direction,
    "table_open": _table_open,
    "table_close": _table_close,
    "th_open": _cell,
    "td_open": _cell,
    "link_close": _link_close,
}
