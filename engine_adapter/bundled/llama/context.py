"""One context over a loaded model: lanes of keys and values of one kind. Knows no requests."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping
from collections.abc import Sequence as Many
from dataclasses import dataclass

import llama_cpp.llama_cpp as C
import numpy as np

from engine_adapter.bundled.llama.batch import Batch
from engine_adapter.bundled.llama.model import Model, ModelRefused
from engine_adapter.bundled.portion import Portion
from engine_adapter.reasons import why


@dataclass(frozen=True, slots=True)
class Form:
    """``lanes`` of ``context`` tokens each, or ``unified`` with so many together; ``kv_type`` and
    ``flash`` by llama.cpp's numbers."""

    lanes: int
    context: int
    batch: int
    threads: int
    kv_type: int
    flash: int
    unified: bool = False


class Context:
    """Lanes that tokens are computed in. Raises ``ModelRefused``. Lives in one thread."""

    def __init__(self, model: Model, form: Form) -> None:
        params = C.llama_context_default_params()
        params.n_ctx = form.context if form.unified else form.lanes * form.context
        params.n_seq_max = self.lanes = form.lanes
        params.kv_unified = form.unified  # else each lane attends over its own cells only
        params.n_batch = params.n_ubatch = form.batch
        params.n_outputs_max = form.lanes
        params.n_threads = params.n_threads_batch = form.threads
        params.type_k = params.type_v = self.kv_type = form.kv_type
        params.flash_attn_type = form.flash
        self.handle = C.llama_init_from_model(model.handle, params)
        if not self.handle:
            words = model.log.cause or "?"
            told = why("no_context_room", lanes=form.lanes, context=form.context, words=words)
            raise ModelRefused(told)
        model.lay_adapter_over(self.handle)
        self._memory = C.llama_get_memory(self.handle)
        self._batch = Batch(form.batch)
        self.rows: dict[int, int] = {}

    def decode(self, portions: Many[Portion], lanes: Mapping[int, int]) -> int:
        """Compute the portions, each in its slot's lane. As ``llama_decode``: 0 done, 1 no room,
        anything else an error. Afterwards ``rows`` tells, by slot, where the logits lie."""
        self.rows = self._batch.fill(portions, lanes)
        result: int = C.llama_decode(self.handle, self._batch.struct)
        if result != 0:
            self.rows = {}
        return result

    def keep(self, lane: int, count: int) -> bool:
        """Forget everything in the lane past its first ``count`` tokens. False where it cannot."""
        return bool(C.llama_memory_seq_rm(self._memory, lane, count, -1))

    def share(self, source: int, target: int) -> None:
        """Let an empty lane of a unified context have what another has, without a copy."""
        C.llama_memory_seq_cp(self._memory, source, target, -1, -1)

    def save(self, lane: int) -> memoryview:
        """A copy of the lane's state."""
        size = C.llama_state_seq_get_size(self.handle, lane)
        state = np.empty(size, np.uint8)
        pointer = state.ctypes.data_as(ctypes.POINTER(ctypes.c_uint8))
        written = C.llama_state_seq_get_data(self.handle, pointer, size, lane)
        if not written:
            raise RuntimeError("llama.cpp gives no state of this lane")
        return state.data[:written]

    def load(self, lane: int, state: memoryview) -> bool:
        """Put a state into an empty lane. False where it does not go in."""
        data = np.frombuffer(state, np.uint8)
        pointer = data.ctypes.data_as(ctypes.POINTER(ctypes.c_uint8))
        return bool(C.llama_state_seq_set_data(self.handle, pointer, len(data), lane))

    def use_threads(self, count: int) -> None:
        """Compute with so many threads from now on."""
        C.llama_set_n_threads(self.handle, count, count)

    def close(self) -> None:
        """Free it; nothing may be asked of it afterwards."""
        C.llama_free(self.handle)
