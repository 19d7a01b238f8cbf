"""One tool call: a JSON object with a name and arguments, read in pieces."""

from __future__ import annotations

import json
from enum import Enum, auto

from engine_adapter.bundled.jsonscan import SPACE, JsonValue, NotJson

_ARGUMENTS = ("arguments", "parameters")
_USUAL = ("name", "type", *_ARGUMENTS)


class _Need(Enum):
    OPENING = auto()
    FIRST_KEY = auto()
    KEY = auto()
    COLON = auto()
    VALUE = auto()
    NEXT = auto()


_MARKS = {
    (_Need.OPENING, "{"): _Need.FIRST_KEY,
    (_Need.COLON, ":"): _Need.VALUE,
    (_Need.NEXT, ","): _Need.KEY,
}


class Call:
    """``take`` pieces until it is ``over``. It has ``begun`` when its name and the start of its
    arguments are known: before that it may still turn out to be no call.

    A call that is over without arguments has none, ``{}``. With ``strict`` it must have some,
    and unusual keys speak against a call.
    """

    def __init__(self, *, strict: bool) -> None:
        self.name: str | None = None
        self.over = False
        self._strict = strict
        self._need = _Need.OPENING
        self._value: JsonValue | None = None
        self._key = ""
        self._text = ""  # of a key or the name
        self._argued = False  # arguments have begun
        self._fresh = ""

    @property
    def begun(self) -> bool:
        """Whether it is a call beyond doubt."""
        return self.name is not None and self._argued

    def fetch(self) -> str:
        """The arguments that came since the last time, as they were written."""
        fresh, self._fresh = self._fresh, ""
        return fresh

    def take(self, text: str, at: int) -> int:
        """Read from ``at``; returns where it stopped. Raises ``NotJson``."""
        while at < len(text) and not self.over:
            value = self._value
            at = self._between(text, at) if value is None else self._inside(value, text, at)
        return at

    def _between(self, text: str, at: int) -> int:
        char, need = text[at], self._need
        if char in SPACE:
            return at + 1
        if following := _MARKS.get((need, char)):
            self._need = following
        elif char == "}" and need in (_Need.NEXT, _Need.FIRST_KEY):
            self._close()
        elif need is _Need.VALUE:
            self._begin_value(char, at)
            return at
        elif char == '"' and need in (_Need.KEY, _Need.FIRST_KEY):
            self._need, self._value = _Need.KEY, JsonValue()
            return at
        else:
            raise NotJson(at)
        return at + 1

    def _begin_value(self, char: str, at: int) -> None:
        if self._key == "name" and (self.name is not None or char != '"'):
            raise NotJson(at)
        if self._key in _ARGUMENTS:
            if self._argued:
                raise NotJson(at)
            self._argued = True
        self._value = JsonValue()

    def _inside(self, value: JsonValue, text: str, at: int) -> int:
        try:
            end = value.take(text, at)
        except NotJson as wrong:
            self._keep(text[at : wrong.position])
            raise
        self._keep(text[at:end])
        if value.over:
            self._value = None
            self._end_value(end)
        return end

    def _keep(self, piece: str) -> None:
        if self._need is _Need.KEY or self._key == "name":
            self._text += piece
        elif self._key in _ARGUMENTS:
            self._fresh += piece

    def _end_value(self, end: int) -> None:
        text, self._text = self._text, ""
        if self._need is _Need.KEY:
            self._key, self._need = json.loads(text), _Need.COLON
            if self._strict and self._key not in _USUAL:
                raise NotJson(end)
            return
        if self._key == "name":
            name = json.loads(text)
            if not name or not name.isprintable():
                raise NotJson(end)
            self.name = name
        self._need = _Need.NEXT

    def _close(self) -> None:
        self.over = True
        if self.name is not None and not self._argued and not self._strict:
            self._argued, self._fresh = True, "{}"
