"""A lane's state turned from one kind of keys and values into another, for another context.

The form is that of llama.cpp's ``llama_kv_cache::state_write``, as of the version we are locked
to; ``reading.py`` tries it when a model is loaded.
"""

from __future__ import annotations

import ctypes
from pathlib import Path

import llama_cpp
import numpy as np
from numpy.typing import NDArray

from engine_adapter.bundled.attention import CACHE_TYPES

F16, BF16 = CACHE_TYPES["f16"].ggml, CACHE_TYPES["bf16"].ggml
AT_ONCE = 1 << 15  # numbers: their form between, in 32 bits, stays in a core's own cache

Bytes = NDArray[np.uint8]

_cpu = ctypes.CDLL(str(next((Path(llama_cpp.__file__).parent / "lib").glob("*ggml-cpu.*"))))
_WIDEN = {F16: _cpu.ggml_cpu_fp16_to_fp32, BF16: _cpu.ggml_cpu_bf16_to_fp32}
_NARROW = {F16: _cpu.ggml_cpu_fp32_to_fp16, BF16: _cpu.ggml_cpu_fp32_to_bf16}
for _function in (*_WIDEN.values(), *_NARROW.values()):
    _function.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64]
    _function.restype = None


class Unknown(Exception):
    """The state has a form that is not known here."""


class _Reader:
    def __init__(self, data: Bytes) -> None:
        self.data = data
        self.at = 0

    def take(self, count: int) -> Bytes:
        """The next ``count`` bytes."""
        if self.at + count > len(self.data):
            raise Unknown("the state ends too soon")
        self.at += count
        return self.data[self.at - count : self.at]

    def number(self, size: int = 4) -> int:
        """The next unsigned number of ``size`` bytes."""
        return int.from_bytes(self.take(size).tobytes(), "little")


def converted(state: memoryview, *, lanes: int, to: int) -> memoryview:
    """The ``state`` of a lane for a context with so many ``lanes`` and keys and values of the
    type ``to`` (f16 or bf16). Raises ``Unknown``."""
    reader = _Reader(np.frombuffer(state, np.uint8))
    head = reader.take(8)  # a magic number, the lane it was
    cells = 0
    for _ in range(reader.number()):  # all lanes but one are empty
        if cells := reader.number():
            break
    else:
        raise Unknown("an empty lane")
    start = reader.at
    spans = _spans(reader, cells)
    end = reader.at
    if reader.data[end:].any():
        raise Unknown("more in the state than one lane's keys and values")
    out = np.empty(16 + (end - start) + 4 * (lanes - 1), np.uint8)
    out[:8] = head
    out[8:16] = np.array([lanes, cells], "<u4").view(np.uint8)
    out[16 + end - start :] = 0
    body, done = out[16 : 16 + end - start], 0
    for at, kind, size in spans:
        at -= start
        body[done:at] = reader.data[start + done : start + at]
        body[at - 12 : at - 8] = np.array([to], "<i4").view(np.uint8)
        done = at + size
        _convert(reader.data[start + at : start + done], body[at:done], kind, to)
    body[done:] = reader.data[start + done : end]
    return out.data


def _spans(reader: _Reader, cells: int) -> list[tuple[int, int, int]]:
    """Offset, type and bytes of each layer's keys, then of each layer's values."""
    own = reader.take(12 * cells).view("<i4").reshape(cells, 3)  # position, 1, its lane
    if (own[:, 1] != 1).any() or reader.number():
        raise Unknown("cells of several lanes, or values that lie across")
    layers = reader.number()
    spans = []
    for _ in range(2 * layers):
        kind, row = reader.number(), reader.number(8)
        if kind not in _WIDEN:
            raise Unknown(f"keys or values of type {kind}")
        spans.append((reader.at, kind, cells * row))
        reader.take(cells * row)
    return spans


def _convert(source: Bytes, target: Bytes, kind: int, to: int) -> None:
    if kind == to:
        target[:] = source
        return
    between = np.empty(AT_ONCE, np.float32)
    widen, narrow, middle = _WIDEN[kind], _NARROW[to], between.ctypes.data
    first, last, count = source.ctypes.data, target.ctypes.data, len(source) // 2
    for at in range(0, count, AT_ONCE):
        size = min(AT_ONCE, count - at)
        widen(first + 2 * at, middle, size)
        narrow(middle, last + 2 * at, size)
