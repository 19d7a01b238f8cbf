"""Names that nobody can guess, which stand for people's text while a template is rendered.

The template is code and sees names only; afterwards what it made is cut at them.
"""

from __future__ import annotations

import json
import re
import secrets
from dataclasses import dataclass
from typing import Any

# Text of which no control token is made and that templates may compare with words of their own.
_PLAIN = re.compile(r"[A-Za-z0-9_.:-]{1,64}")


@dataclass(frozen=True, slots=True)
class Piece:
    """A piece of what was rendered. ``turn`` is whose content it is; ``own`` is the template's."""

    text: str
    own: bool
    turn: int | None = None


@dataclass(frozen=True, slots=True)
class _Stand:
    text: str
    turn: int | None
    quotable: bool


class StandIns:
    """The names of one rendering."""

    def __init__(self) -> None:
        self._prefix = f"kx{secrets.token_hex(8)}n"
        self._stands: dict[str, _Stand] = {}
        self._leaves: dict[str, str] = {}

    def content(self, text: str, turn: int, *, quotable: bool) -> str:
        """The name of a turn's content. Where ``quotable`` and the template puts it in quotes,
        it is written as JSON has it."""
        return self._name(_Stand(text, turn, quotable))

    def leaf(self, value: Any) -> Any:
        """The same JSON value, with a name for each string that is no plain identifier. Equal
        strings have one name, so that a template can still look keys up."""
        if isinstance(value, str):
            return value if _PLAIN.fullmatch(value) else self._leaf(value)
        if isinstance(value, list):
            return [self.leaf(one) for one in value]
        if isinstance(value, dict):
            return {self.leaf(key): self.leaf(one) for key, one in value.items()}
        return value

    def cut(self, rendered: str) -> list[Piece]:
        """What was rendered, with people's text in its places."""
        pieces = re.split(f"({self._prefix}[0-9]+z)", rendered)
        cut = []
        for index, piece in enumerate(pieces):
            stand = self._stands.get(piece)
            if stand is None:
                cut.append(Piece(piece, own=True))
                continue
            quoted = pieces[index - 1].endswith('"') and pieces[index + 1].startswith('"')
            text = _escaped(stand.text) if stand.quotable and quoted else stand.text
            cut.append(Piece(text, own=False, turn=stand.turn))
        return [piece for piece in cut if piece.text or not piece.own]

    def _name(self, stand: _Stand) -> str:
        name = f"{self._prefix}{len(self._stands)}z"
        self._stands[name] = stand
        return name

    def _leaf(self, value: str) -> str:
        if value not in self._leaves:
            # JSON can hold half a surrogate pair; UTF-8 and tokens cannot.
            text = value.encode("utf-8", "replace").decode()
            self._leaves[value] = self._name(_Stand(text, None, quotable=True))
        return self._leaves[value]


def _escaped(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)[1:-1]
