"""Stop strings: where a text ends. Knows no bytes and no tokens."""

from __future__ import annotations

import re

from engine_adapter.thinking import overlap


class StopStrings:
    """Ends a text before the stop string that is complete first, however it is cut."""

    def __init__(self, stop: tuple[str, ...]) -> None:
        self._stop = tuple(word for word in stop if word)
        self._begins = re.compile("|".join(re.escape(word[0]) for word in self._stop))
        self._held = ""
        self.met = False

    def feed(self, text: str) -> str:
        """Take more text; return what cannot belong to a stop string any more."""
        if not self._stop or not (self._held or self._begins.search(text)):
            return text
        self._held += text
        found = [(at + len(stop), at) for stop in self._stop if (at := self._held.find(stop)) >= 0]
        if found:
            self.met = True
            released, self._held = self._held[: min(found)[1]], ""
            return released
        cut = len(self._held) - max(overlap(self._held, stop) for stop in self._stop)
        released, self._held = self._held[:cut], self._held[cut:]
        return released

    def release(self) -> str:
        """What was held back; the text is interrupted or over."""
        released, self._held = self._held, ""
        return released
