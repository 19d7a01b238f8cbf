"""One tool call whose name stands before the JSON of its arguments, read in pieces."""

from __future__ import annotations

import re

from engine_adapter.bundled.form import ARGS, CALL_ID
from engine_adapter.bundled.jsonscan import SPACE, JsonValue, NotJson

_HEAD = re.compile(
    rf"\s*([\w.:-]{{1,64}})\s*(?:{re.escape(CALL_ID)}\w{{1,64}})?{re.escape(ARGS)}", re.ASCII
)
_LONGEST_HEAD = 200
_IN_HEAD = re.compile(r"[\s\w.:\[\]-]", re.ASCII)


class NamedCall:
    """See ``call.Call``. It has begun with the first character of its arguments, an object."""

    def __init__(self) -> None:
        self.name: str | None = None
        self.begun = False
        self._head = ""
        self._fresh = ""
        self._value = JsonValue()

    @property
    def over(self) -> bool:
        """Whether it is complete."""
        return self._value.over

    def fetch(self) -> str:
        """The arguments that came since the last time, as they were written."""
        fresh, self._fresh = self._fresh, ""
        return fresh

    def take(self, text: str, at: int) -> int:
        """Read from ``at``; returns where it stopped. Raises ``NotJson``."""
        while at < len(text) and not self.begun:
            if self.name is None:
                self._read_head(text[at], at)
            elif text[at] == "{":
                self.begun = True
                break
            elif text[at] not in SPACE:
                raise NotJson(at)
            at += 1
        try:
            end = self._value.take(text, at)
        except NotJson as wrong:
            self._fresh += text[at : wrong.position]
            raise
        self._fresh += text[at:end]
        return end

    def _read_head(self, char: str, at: int) -> None:
        if len(self._head) == _LONGEST_HEAD or not _IN_HEAD.match(char):
            raise NotJson(at)
        self._head += char
        if self._head.endswith(ARGS):
            head = _HEAD.fullmatch(self._head)
            if head is None:
                raise NotJson(at)
            self.name = head[1]
