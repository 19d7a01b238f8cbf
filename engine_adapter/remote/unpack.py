"""Unpacks a gzipped reply piece by piece, never much at once. Pure.

Nobody asks for compression, but proxies are known to compress for whoever comes.
"""

from __future__ import annotations

import zlib

PIECE = 256 << 10  # bytes given out at once: a small packed piece can unpack to gigabytes


class Unpacker:
    """The one reply's packed bytes in, its bytes out. Raises ``zlib.error`` for what is no gzip."""

    def __init__(self) -> None:
        self._inner = zlib.decompressobj(16 + zlib.MAX_WBITS)
        self.full = False  # whether there may be more to be had before the next piece is needed

    def take(self, packed: bytes = b"") -> bytes:
        """The next bytes; none where ``packed`` ends in the middle of a symbol."""
        data = self._inner.decompress(self._inner.unconsumed_tail + packed, PIECE)
        self.full = len(data) == PIECE
        return data
