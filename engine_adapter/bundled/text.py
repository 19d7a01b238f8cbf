"""From token bytes to readable text: whole characters only, nothing past a stop string.

Knows no tokens and no model.
"""

from __future__ import annotations

import codecs


class TextStream:
    """The text of one answer while it grows.

    ``feed`` returns what may be shown now. Bytes of an unfinished character and text that may
    still become a stop string are held back. The result does not depend on how the bytes were cut
    into pieces: the stop string that is complete first ends the text.
    """

    def __init__(self, stop: tuple[str, ...] = ()) -> None:
        self._stop = stop
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._held = ""
        self.stopped = False

    def feed(self, piece: bytes) -> str:
        """Take the next bytes; return the text they release. After a stop it is always ''."""
        if self.stopped:
            return ""
        text = self._decoder.decode(piece)
        if not self._stop:
            return text
        self._held += text
        found = [(at + len(stop), at) for stop in self._stop if (at := self._held.find(stop)) >= 0]
        if found:
            self.stopped = True
            released, self._held = self._held[: min(found)[1]], ""
            return released
        keep = max(self._overlap(stop) for stop in self._stop)
        cut = len(self._held) - keep
        released, self._held = self._held[:cut], self._held[cut:]
        return released

    def finish(self) -> str:
        """The answer is over: return what was held back. A character cut in half is dropped."""
        released, self._held = self._held, ""
        return released

    def _overlap(self, stop: str) -> int:
        """Length of the longest end of the held text that begins ``stop``."""
        for length in range(min(len(stop) - 1, len(self._held)), 0, -1):
            if self._held.endswith(stop[:length]):
                return length
        return 0
