"""Server-sent events out of bytes, as the HTML standard parses them.

Pure: whoever reads the network feeds it. Lines end at CR, LF or CRLF and nowhere else; httpx's
own ``aiter_lines`` also cuts at U+2028 and U+0085, which may stand raw inside JSON.
"""

from __future__ import annotations

from dataclasses import dataclass

_BOM = b"\xef\xbb\xbf"


class TooLong(ValueError):
    """A line or an event grew past its limit."""


@dataclass(frozen=True, slots=True)
class Frame:
    """One dispatched event: its type (``message`` unless the stream says otherwise), its data."""

    event: str
    data: str


class Parser:
    """Cuts one stream into frames, however its bytes are split.

    ``limit`` (bytes) holds for a line and for the data of one event. The fields ``id`` and
    ``retry`` serve reconnecting, which nobody does to an answer; like unknown fields they are
    passed over.
    """

    def __init__(self, *, limit: int = 1 << 20) -> None:
        self._limit = limit
        self._line = bytearray()
        self._first = True
        self._after_cr = False
        self._event = ""
        self._data: list[str] = []
        self._size = 0

    def feed(self, chunk: bytes) -> list[Frame]:
        """The frames that ``chunk`` completes. Raises ``TooLong``."""
        if self._after_cr and chunk:
            chunk = chunk.removeprefix(b"\n")
            self._after_cr = False
        frames: list[Frame] = []
        # bytes.splitlines, unlike str.splitlines, knows CR, LF and CRLF only.
        for line in chunk.splitlines(keepends=True):
            self._line += line
            if len(self._line) > self._limit:
                raise TooLong(f"a line of the stream is longer than {self._limit} bytes")
            self._after_cr = line.endswith(b"\r")
            if line.endswith((b"\n", b"\r")):
                whole = bytes(self._line).rstrip(b"\r\n")
                self._line.clear()
                if self._first:
                    whole = whole.removeprefix(_BOM)
                    self._first = False
                if (frame := self._take(whole)) is not None:
                    frames.append(frame)
        return frames

    def _take(self, line: bytes) -> Frame | None:
        if not line:
            return self._dispatch()
        name, _, raw = line.partition(b":")
        if name == b"data":
            self._size += len(raw) + 1
            if self._size > self._limit:
                raise TooLong(f"an event of the stream is longer than {self._limit} bytes")
            self._data.append(_value(raw))
        elif name == b"event":
            self._event = _value(raw)
        return None

    def _dispatch(self) -> Frame | None:
        event, data = self._event, self._data
        self._event, self._data, self._size = "", [], 0
        return Frame(event or "message", "\n".join(data)) if data else None


def _value(raw: bytes) -> str:
    return raw.removeprefix(b" ").decode("utf-8", errors="replace")
