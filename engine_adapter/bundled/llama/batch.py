"""What one ``llama_decode`` is given, written as slices of numpy arrays."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping
from collections.abc import Sequence as Many

import llama_cpp.llama_cpp as C
import numpy as np

from engine_adapter.bundled.portion import Portion


class Batch:
    """A ``llama_batch`` over numpy arrays, so that a portion is written as slices."""

    def __init__(self, size: int) -> None:
        self.tokens = np.zeros(size, np.int32)
        self.positions = np.zeros(size, np.int32)
        self.slots = np.zeros(size, np.int32)
        self.outputs = np.zeros(size, np.int8)
        self._counts = np.ones(size, np.int32)
        self._rows = (self.slots.ctypes.data + 4 * np.arange(size)).astype(np.uintp)
        self.struct = C.llama_batch(
            0,
            self.tokens.ctypes.data_as(ctypes.POINTER(C.llama_token)),
            None,
            self.positions.ctypes.data_as(ctypes.POINTER(C.llama_pos)),
            self._counts.ctypes.data_as(ctypes.POINTER(ctypes.c_int32)),
            self._rows.ctypes.data_as(ctypes.POINTER(ctypes.POINTER(C.llama_seq_id))),
            self.outputs.ctypes.data_as(ctypes.POINTER(ctypes.c_int8)),
        )

    def fill(self, portions: Many[Portion], lanes: Mapping[int, int]) -> dict[int, int]:
        """Write the portions, each for its slot's lane; return, by slot, the row whose logits a
        token is drawn from."""
        self.outputs[:] = 0
        rows: dict[int, int] = {}
        at = 0
        for portion in portions:
            start, end = portion.start, portion.start + portion.count
            slot = portion.slot
            upto = at + portion.count
            self.tokens[at:upto] = portion.sequence.known[start:end]
            self.positions[at:upto] = np.arange(start, end)
            self.slots[at:upto] = lanes[slot]
            if portion.closes:
                self.outputs[upto - 1] = 1
                rows[slot] = upto - 1
            at = upto
        self.struct.n_tokens = at
        return rows
