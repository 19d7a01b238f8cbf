"""Text to blocks, blocks to HTML, and the two in one go for finished text."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from django.utils.safestring import SafeString, mark_safe
from markdown_it import MarkdownIt
from markdown_it.rules_core import StateCore, block, inline, normalize, text_join
from markdown_it.token import Token
from markdown_it.utils import EnvType

from chat.markdown import maths, notes, rules
from chat.markdown.sanitising import clean


def render(text: str) -> SafeString:
    """The finished text as HTML that is safe on any page."""
    tokens = read(text)
    env = {**notes.known(notes.labels(tokens)), "references": references(tokens)}
    text_tokens, said = notes.take_out(tokens)
    return mark_safe(write(text_tokens, env) + closing(said, env))  # noqa: S308 - both are clean


def read(text: str) -> list[Token]:
    """The blocks. What stands in them as running text is not looked at yet."""
    state = StateCore(text, parser(), {})
    normalize(state)
    block(state)
    return state.tokens


def references(tokens: Sequence[Token]) -> dict[str, dict[str, str]]:
    """The link definitions among these blocks, the first of a name before a later one."""
    found: dict[str, dict[str, str]] = {}
    for token in tokens:
        if token.type == "definition":
            meta = token.meta
            found.setdefault(meta["id"], {"href": meta["url"], "title": meta["title"]})
    return found


def write(tokens: list[Token], env: EnvType) -> SafeString:
    """Blocks as HTML. ``env`` knows the definitions and counts the references to notes."""
    return clean(write_raw(tokens, env))


def write_raw(tokens: list[Token], env: EnvType) -> str:
    """The same, to be cleaned by who knows where it will stand."""
    state = StateCore("", parser(), env)
    state.tokens = rules.numbers_as_text(tokens)
    inline(state)
    text_join(state)
    return str(parser().renderer.render(state.tokens, parser().options, env))


def closing(said: dict[str, list[Token]], env: EnvType) -> SafeString:
    """The notes that the text refers to, and those that these refer to in their turn."""
    written: list[str] = []
    while len(written) < len(order := notes.in_order(env)):
        written.append(write_raw(said[order[len(written)]], env))
    return clean(notes.section(written))


@lru_cache(maxsize=1)
def parser() -> MarkdownIt:
    """The one way in which every text is read."""
    options = {"html": False, "tasklists": True, "inline_definitions": True, "maxNesting": 100}
    made = MarkdownIt("commonmark", options)
    made.enable(["table", "strikethrough"])
    made.disable(["image", "html_block", "html_inline"])
    for part in (maths, notes, rules):
        part.use(made)
    return made
