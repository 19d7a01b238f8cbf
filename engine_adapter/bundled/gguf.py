"""A GGUF file's head, read with bounds in pure Python before llama.cpp sees the file.

The format is ggml/docs/gguf.md, versions 2 and 3, little-endian. Nothing is trusted: a count, a
length or an offset that the file cannot hold ends in ``Damaged``. ``header.py`` makes sense of it.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from engine_adapter.reasons import Reason, why

MOST_ENTRIES = 1 << 16
MOST_TENSORS = 1 << 20
MOST_DIMENSIONS = 4
LONGEST_KEY = 1 << 16
LONGEST_KEPT = 1 << 16  # of a string whose value is kept; longer ones are stepped over
# Arrays are stepped over too, but for what some models tell layer by layer.
KEPT_ARRAYS = (".attention.head_count", ".attention.head_count_kv", ".feed_forward_length")
MOST_KEPT = 4096

# value types: 8 is a string, 9 an array
SCALARS = {0: "B", 1: "b", 2: "<H", 3: "<h", 4: "<I", 5: "<i", 6: "<f", 7: "?",
           10: "<Q", 11: "<q", 12: "<d"}  # fmt: skip
STRING, ARRAY = 8, 9

# ggml type: (elements, bytes) of a block; a type that is not here is checked by its offset alone
BLOCKS = {
    0: (1, 4), 1: (1, 2), 2: (32, 18), 3: (32, 20), 6: (32, 22), 7: (32, 24), 8: (32, 34),
    10: (256, 84), 11: (256, 110), 12: (256, 144), 13: (256, 176), 14: (256, 210),
    16: (256, 66), 17: (256, 74), 18: (256, 98), 19: (256, 50), 20: (32, 18), 21: (256, 110),
    22: (256, 82), 23: (256, 136), 24: (1, 1), 25: (1, 2), 26: (1, 4), 27: (1, 8), 28: (1, 8),
    29: (256, 56), 30: (1, 2), 34: (256, 54), 35: (256, 66), 39: (32, 17),
}  # fmt: skip


class Damaged(Exception):
    """Not a model file, or not all of one; ``why`` says what is wrong, for people."""

    def __init__(self, reason: Reason) -> None:
        super().__init__(str(reason))
        self.why = reason


@dataclass(frozen=True, slots=True)
class Skipped:
    """An array that was stepped over, and how many elements it has."""

    length: int


@dataclass(frozen=True, slots=True)
class Contents:
    """What the file tells by key, the bytes from its first weight to its end, and how many numbers
    its tensors hold."""

    metadata: dict[str, object]
    weights_bytes: int
    size_bytes: int
    numbers: int = 0


def read_contents(path: Path) -> Contents:
    """Read and check a file. Raises ``Damaged``, and ``OSError`` where it cannot be read."""
    with path.open("rb") as file:
        reader = _Reader(file, path.stat().st_size)
        if reader.take(4) != b"GGUF":
            raise Damaged(why("not_gguf"))
        version = reader.number("<I")
        if version not in (2, 3):
            raise Damaged(why("gguf_version", version=version))
        tensors = reader.count(MOST_TENSORS, "many_tensors")
        entries = reader.count(MOST_ENTRIES, "many_entries")
        metadata = dict(reader.entry() for _ in range(entries))
        if not tensors:
            raise Damaged(why("no_weights"))
        begin = reader.check_tensors(tensors, _alignment(metadata.get("general.alignment", 32)))
    return Contents(metadata, reader.size - begin, reader.size, reader.numbers)


def _alignment(value: object) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not 0 < value <= 1 << 16:
        raise Damaged(why("no_alignment"))
    return value


class _Reader:
    """Reads forward and never past the end."""

    def __init__(self, file: BinaryIO, size: int) -> None:
        self._file = file
        self.size = size
        self._left = size
        self.numbers = 0

    def take(self, length: int) -> bytes:
        """The next bytes, all of them or ``Damaged``."""
        self._spend(length)
        data = self._file.read(length)
        if len(data) != length:
            raise Damaged(why("cut_in_middle"))
        return data

    def number(self, form: str) -> int:
        """The next number in the form of ``struct``."""
        value: int = struct.unpack(form, self.take(struct.calcsize(form)))[0]
        return value

    def count(self, most: int, too_many: str) -> int:
        """The next 64-bit count of things of which each takes at least a byte; ``too_many`` is the
        code of what is said where the file cannot hold so many."""
        value = self.number("<Q")
        if value > min(most, self._left):
            raise Damaged(why(too_many, count=value))
        return value

    def string(self, most: int) -> str | None:
        """The next string; None where it is longer than ``most`` and was stepped over."""
        length = self.number("<Q")
        if length > most:
            self._skip(length)
            return None
        return self.take(length).decode("utf-8", "replace")

    def entry(self) -> tuple[str, object]:
        """The next key with its value; long strings and most arrays are stepped over."""
        key = self.string(LONGEST_KEY)
        if not key:
            raise Damaged(why("bad_key"))
        kind = self.number("<I")
        if kind == STRING:
            return key, self.string(LONGEST_KEPT)
        if kind == ARRAY:
            return key, self._array(kept=key.endswith(KEPT_ARRAYS))
        return key, self.number(_form(kind))

    def check_tensors(self, tensors: int, alignment: int) -> int:
        """Read the list of tensors; return where their data begin. Raises ``Damaged`` unless the
        file holds them all."""
        end = 0
        for _ in range(tensors):
            self.string(LONGEST_KEY)
            dimensions = self.number("<I")
            if dimensions > MOST_DIMENSIONS:
                raise Damaged(why("dimensions", count=dimensions))
            elements = 1
            for _ in range(dimensions):
                elements *= self.number("<Q")
            self.numbers += elements
            block, block_bytes = BLOCKS.get(self.number("<I"), (1, 0))
            end = max(end, self.number("<Q") + elements // block * block_bytes)
        begin = -(-(self.size - self._left) // alignment) * alignment
        if begin + end > self.size:
            raise Damaged(why("cut_short", announced=begin + end, there=self.size))
        return begin

    def _spend(self, length: int) -> None:
        if length > self._left:
            raise Damaged(why("cut_in_middle"))
        self._left -= length

    def _skip(self, length: int) -> None:
        self._spend(length)
        self._file.seek(length, 1)

    def _array(self, *, kept: bool) -> Skipped | tuple[int | float, ...]:
        kind = self.number("<I")
        length = self.count(self.size, "many_elements")
        if kind == STRING:
            for _ in range(length):
                self._skip(self.number("<Q"))
        elif kept and length <= MOST_KEPT:
            return tuple(self.number(_form(kind)) for _ in range(length))
        else:
            self._skip(length * struct.calcsize(_form(kind)))
        return Skipped(length)


def _form(kind: int) -> str:
    form = SCALARS.get(kind)
    if form is None:
        raise Damaged(why("value_type", kind=kind))
    return form
