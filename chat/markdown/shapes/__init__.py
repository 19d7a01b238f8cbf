"""The shapes of blocks that are still being written."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from markdown_it.token import Token
from markdown_it.utils import EnvType

from chat.markdown.shapes.base import STARTS, WORDS, Shape
from chat.markdown.shapes.code import Code
from chat.markdown.shapes.items import Items
from chat.markdown.shapes.paragraph import Paragraph
from chat.markdown.shapes.table import Table

__all__ = ["STARTS", "WORDS", "Paragraph", "Shape", "shape_of"]


def shape_of(tokens: Sequence[Token], source: str, definitions: EnvType) -> tuple[Shape, int]:
    """The shape of an open block, and how much of its source that shows already."""
    found = None
    if tokens and not any(token.level == 0 and token.nesting >= 0 for token in tokens[1:]):
        make = _MAKERS.get(tokens[0].type)
        found = make(tokens, source, definitions) if make else None
    return found or (Shape(definitions), 0)


_Found = tuple[Shape, int] | None
_BARE_NUMBERS = {"ordered_list_open", "list_item_open", "list_item_close", "ordered_list_close"}


def _paragraph(tokens: Sequence[Token], source: str, definitions: EnvType) -> _Found:
    return (Paragraph(definitions), 0) if WORDS.match(source) else None


def _code(tokens: Sequence[Token], source: str, definitions: EnvType) -> _Found:
    return (Code(definitions, tokens[0]), source.find("\n") + 1) if "\n" in source else None


def _table(tokens: Sequence[Token], source: str, definitions: EnvType) -> _Found:
    end = source.find("\n", source.find("\n") + 1) + 1
    return (Table(definitions, source[:end]), end) if end else None


def _items(tokens: Sequence[Token], source: str, definitions: EnvType) -> _Found:
    if all(token.type in _BARE_NUMBERS for token in tokens):
        return None  # they are shown as text
    loose = any(t.type == "paragraph_open" and t.level == 2 and not t.hidden for t in tokens)
    return Items(definitions, tokens[0], loose=loose), 0


_MAKERS: dict[str, Callable[[Sequence[Token], str, EnvType], _Found]] = {
    "paragraph_open": _paragraph,
    "fence": _code,
    "table_open": _table,
    "bullet_list_open": _items,
    "ordered_list_open": _items,
}
