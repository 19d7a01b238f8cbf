"""Footnotes: a number where one is referred to, the notes together at the end of the text.

While a text grows neither is known for good; each note then stands where it was written, and a
reference shows its label.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from django.utils.html import escape
from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.token import Token
from markdown_it.utils import EnvType, OptionsDict
from mdit_py_plugins.footnote import footnote_plugin

_NUMBERED = re.compile(r"\[\^(\d{1,3})\]")


def use(parser: MarkdownIt) -> None:
    """Teach the parser to find them, and the renderer to show them."""
    footnote_plugin(parser, inline=False, move_to_end=False)
    parser.add_render_rule("footnote_ref", _reference)
    parser.add_render_rule("footnote_reference_open", _provisional_open)
    parser.add_render_rule("footnote_reference_close", _provisional_close)


def labels(tokens: Sequence[Token]) -> list[str]:
    """The labels of the notes that are defined among these blocks."""
    return [str(t.meta["label"]) for t in tokens if t.type == "footnote_reference_open"]


def known(all_labels: Sequence[str]) -> EnvType:
    """What the parser of running text has to know: every note of the whole document."""
    return {"footnotes": {"refs": {f":{label}": -1 for label in all_labels}, "list": {}}}


def expecting(source: str, env: EnvType) -> EnvType:
    """``env`` for a text whose notes have yet to come: numbers are taken for references."""
    if "[^" not in source:
        return env
    return {**env, **known(_NUMBERED.findall(source)), "growing": True}


def take_out(tokens: Sequence[Token]) -> tuple[list[Token], dict[str, list[Token]]]:
    """The text without its notes, and what each note says by its label."""
    text: list[Token] = []
    notes: dict[str, list[Token]] = {}
    into = [text]
    for token in tokens:
        if token.type == "footnote_reference_open":
            into.append([])
            notes[str(token.meta["label"])] = into[-1]
        elif token.type == "footnote_reference_close":
            into.pop()
        else:
            into[-1].append(token)
    return text, notes


def in_order(env: EnvType) -> list[str]:
    """The labels of the notes that were referred to, in the order of their numbers."""
    return [str(note["label"]) for note in env.get("footnotes", {}).get("list", {}).values()]


def section(notes: Sequence[str]) -> str:
    """The notes, each one HTML already, as they stand at the end."""
    if not notes:
        return ""
    items = "".join(f'<li dir="auto">{note}</li>\n' for note in notes)
    return f'<section class="notes"><ol>\n{items}</ol></section>\n'


def _reference(
    self: RendererHTML, tokens: Sequence[Token], idx: int, options: OptionsDict, env: EnvType
) -> str:
    meta = tokens[idx].meta
    shown = meta["label"] if env.get("growing") else meta["id"] + 1
    return f'<sup class="note">{shown}</sup>'


def _provisional_open(
    self: RendererHTML, tokens: Sequence[Token], idx: int, options: OptionsDict, env: EnvType
) -> str:
    label = escape(str(tokens[idx].meta["label"]))
    return f'<section class="notes"><div class="note"><sup>{label}</sup>'


def _provisional_close(
    self: RendererHTML, tokens: Sequence[Token], idx: int, options: OptionsDict, env: EnvType
) -> str:
    return "</div></section>\n"
