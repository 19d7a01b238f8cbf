"""One JSON value (RFC 8259) read in pieces: says where it ends, or where it stops being JSON.

Keeps no text and builds no value.
"""

from __future__ import annotations

import re

SPACE = " \t\n\r"
_PLAIN = re.compile(r'[^"\\\x00-\x1f]+')
_WORD = re.compile(r"[-+.0-9A-Za-z]+")
_ATOM = re.compile(r"true|false|null|-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]+)?")
_HEX = re.compile(r"[0-9A-Fa-f]")

# What may come next between two tokens. A value, a key, or one of the characters that are named.
_VALUE, _FIRST, _KEY, _FIRST_KEY, _COLON, _NEXT = "value", "value]", 'key"', 'key"}', ":", ",]}"


class NotJson(Exception):
    """The text stops being JSON at ``position``."""

    def __init__(self, position: int) -> None:
        super().__init__(position)
        self.position = position


class JsonValue:
    """``take`` pieces until it is ``over``. A number is over only at the character behind it."""

    def __init__(self) -> None:
        self.over = False
        self._open: list[str] = []  # the closing characters that are due
        self._need = _VALUE
        self._read = self._between
        self._word = ""
        self._hex = 0

    def take(self, text: str, at: int) -> int:
        """Read from ``at``; returns where it stopped. Raises ``NotJson``."""
        while at < len(text) and not self.over:
            at = self._read(text, at)
        return at

    def _between(self, text: str, at: int) -> int:
        char, need = text[at], self._need
        if char in SPACE:
            return at + 1
        if char in "]}":
            if char not in need or self._open[-1:] != [char]:
                raise NotJson(at)
            self._open.pop()
            self._end_value()
        elif need is _NEXT or need is _COLON:
            if char != need[0]:
                raise NotJson(at)
            self._need = _VALUE if need is _COLON or self._open[-1] == "]" else _KEY
        elif char == '"':
            self._read = self._string
        elif need is _KEY or need is _FIRST_KEY:
            raise NotJson(at)
        elif char in "[{":
            self._open.append("]" if char == "[" else "}")
            self._need = _FIRST if char == "[" else _FIRST_KEY
        elif _WORD.match(char):
            self._read = self._atom
            return at
        else:
            raise NotJson(at)
        return at + 1

    def _string(self, text: str, at: int) -> int:
        if plain := _PLAIN.match(text, at):
            return plain.end()
        if text[at] == '"':
            self._read = self._between
            if self._need is _KEY or self._need is _FIRST_KEY:
                self._need = _COLON
            else:
                self._end_value()
        elif text[at] == "\\":
            self._read = self._escape
        else:
            raise NotJson(at)
        return at + 1

    def _escape(self, text: str, at: int) -> int:
        if text[at] == "u":
            self._hex, self._read = 4, self._digits
        elif text[at] in '"\\/bfnrt':
            self._read = self._string
        else:
            raise NotJson(at)
        return at + 1

    def _digits(self, text: str, at: int) -> int:
        if not _HEX.match(text[at]):
            raise NotJson(at)
        self._hex -= 1
        if not self._hex:
            self._read = self._string
        return at + 1

    def _atom(self, text: str, at: int) -> int:
        if word := _WORD.match(text, at):
            self._word += word.group()
            return word.end()
        if not _ATOM.fullmatch(self._word):
            raise NotJson(at)
        self._word, self._read = "", self._between
        self._end_value()
        return at

    def _end_value(self) -> None:
        self._need = _NEXT
        self.over = not self._open
