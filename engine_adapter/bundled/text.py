"""From token bytes to readable text: whole characters only, nothing past a stop string.

Knows no tokens and no model.
"""

from __future__ import annotations

import codecs

from engine_adapter.thinking import overlap


class StopStrings:
    """Ends a text before the stop string that is complete first, however it is cut."""

    def __init__(self, stop: tuple[str, ...]) -> None:
        self._stop = stop
        self._held = ""
        self.met = False

    def feed(self, text: str) -> str:
        """Take more text; return what cannot belong to a stop string any more."""
        if not self._stop:
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


class TextStream:
    """The text of one answer while it grows.

    ``feed`` returns what may be shown now. Bytes of an unfinished character and text that may
    still become a stop string are held back. The result does not depend on how the bytes were cut
    into pieces: the stop string that is complete first ends the text.
    """

    def __init__(self, stop: tuple[str, ...] = ()) -> None:
        self._stop = StopStrings(stop)
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")

    @property
    def stopped(self) -> bool:
        """Whether a stop string ended the text."""
        return self._stop.met

    def feed(self, piece: bytes) -> str:
        """Take the next bytes; return the text they release. After a stop it is always ''."""
        return "" if self.stopped else self._stop.feed(self._decoder.decode(piece))

    def finish(self) -> str:
        """The answer is over: return what was held back. A character cut in half is dropped."""
        return self._stop.release()
