"""Lines of JSON out of bytes. Pure: whoever reads the network feeds it."""

from __future__ import annotations

from engine_adapter.remote.sse import TooLong


class Lines:
    """Cuts one stream at its line ends, LF or CRLF, however its bytes are split.

    ``limit`` (bytes) holds for a line.
    """

    def __init__(self, *, limit: int = 1 << 20) -> None:
        self._limit = limit
        self._held = bytearray()

    def feed(self, chunk: bytes) -> list[bytes]:
        """The lines that ``chunk`` completes, without their ends; none is empty. Raises
        ``TooLong``."""
        *whole, rest = chunk.split(b"\n")
        lines = []
        for piece in whole:
            self._hold(piece)
            if line := bytes(self._held).strip():
                lines.append(line)
            self._held.clear()
        self._hold(rest)
        return lines

    def rest(self) -> bytes:
        """What is left at the end of the stream: the last line need not be ended."""
        return bytes(self._held).strip()

    def _hold(self, piece: bytes) -> None:
        self._held += piece
        if len(self._held) > self._limit:
            raise TooLong(f"a line of the stream is longer than {self._limit} bytes")
