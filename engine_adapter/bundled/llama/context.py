"""A context over a loaded model: one lane of keys and values a slot, computed step by step."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence as Many

import llama_cpp.llama_cpp as C
import numpy as np

from engine_adapter.bundled import attention
from engine_adapter.bundled.config import Defaults, Settings
from engine_adapter.bundled.llama.batch import Batch
from engine_adapter.bundled.llama.model import Model, ModelRefused
from engine_adapter.bundled.llama.sampler import Sampler
from engine_adapter.bundled.portion import Portion
from engine_adapter.bundled.sequence import Drawn, Sequence


class Lanes:
    """``settings.slots`` lanes over ``model``. Raises ``ModelRefused``.

    Lives in one thread; only ``prepare`` may be called from any.
    """

    def __init__(self, model: Model, settings: Settings, defaults: Defaults | None = None) -> None:
        self._model = model
        self._vocabulary = model.vocabulary
        self._defaults = defaults or Defaults()
        self.context = min(settings.context, model.trained_context)
        if not model.writes:
            raise ModelRefused("this model does not write text")
        self._handle = self._open(settings)
        self._memory = C.llama_get_memory(self._handle)
        self._batch = Batch(settings.batch_tokens)
        self._rows: dict[int, int] = {}
        self._probe()

    def _open(self, settings: Settings) -> C.llama_context_p:
        slots, batch = settings.slots, settings.batch_tokens
        params = C.llama_context_default_params()
        params.n_ctx = slots * self.context
        params.n_seq_max = slots
        params.kv_unified = False  # each slot attends over its own cells only
        params.n_batch = params.n_ubatch = batch
        params.n_outputs_max = slots
        params.n_threads = params.n_threads_batch = settings.thread_count
        card = bool(settings.gpu_layers and C.llama_supports_gpu_offload())
        params.type_k = params.type_v = attention.cache_type(settings.kv_type, card=card).ggml
        params.flash_attn_type = attention.flash_attention(settings.flash_attention, card=card)
        context = C.llama_init_from_model(self._model.handle, params)
        if not context:
            cause = self._model.log.cause or "no memory"
            raise ModelRefused(f"no context of {slots} × {self.context} tokens: {cause}")
        self._model.lay_adapter_over(context)
        return context

    def _probe(self) -> None:
        """Compute three tokens. A build for another processor dies here, at once and in loading,
        and not in somebody's answer. Learn also whether this kind of memory can be cut."""
        probe = Sequence(id=-1, known=[0, 0, 0], room=1, slot=0)
        if (result := self.decode([Portion(probe, 0, 3)])) != 0:
            raise ModelRefused(f"the model loads but computes nothing (llama_decode: {result})")
        self.prepare(probe)
        self.draw(probe)
        self.release(probe)
        # With a sliding window, what lies before it is gone once the lane is longer.
        whole = C.llama_model_n_swa(self._model.handle) == 0
        self.cuts = whole and bool(C.llama_memory_seq_rm(self._memory, 0, 1, -1))
        self.keep(0, 0)

    # ---- see loop.Device -------------------------------------------------------------------

    def decode(self, portions: Many[Portion]) -> int:
        """See ``device.Device``."""
        self._rows = self._batch.fill(portions)
        result: int = C.llama_decode(self._handle, self._batch.struct)
        if result != 0:
            self._rows = {}
        return result

    def prepare(self, sequence: Sequence) -> None:
        """Make what draws the sequence's tokens. Raises ``Refused``."""
        sequence.drawing = Sampler(
            self._vocabulary, sequence.sampling, self._defaults, sequence.known
        )

    def draw(self, sequence: Sequence) -> Drawn:
        """See ``device.Device``. Raises ``KeyError`` where ``decode`` left no logits for it: asking
        llama.cpp for logits that are not there ends the process."""
        sampler = sequence.drawing
        if sequence.slot is None or not isinstance(sampler, Sampler):
            raise ValueError("only a running sequence that was prepared draws tokens")
        return sampler.draw(self._handle, self._rows[sequence.slot])

    def ends(self, token: int) -> bool:
        """See ``device.Device``."""
        return self._vocabulary.ends(token)

    def piece(self, token: int) -> bytes:
        """See ``device.Device``."""
        return self._vocabulary.piece(token)

    def keep(self, slot: int, count: int) -> None:
        """See ``device.Device``."""
        if not C.llama_memory_seq_rm(self._memory, slot, count, -1):
            raise RuntimeError(f"this model's memory cannot be cut to {count} tokens")

    def save(self, slot: int) -> memoryview:
        """See ``device.Device``."""
        size = C.llama_state_seq_get_size(self._handle, slot)
        state = np.empty(size, np.uint8)
        pointer = state.ctypes.data_as(ctypes.POINTER(ctypes.c_uint8))
        written = C.llama_state_seq_get_data(self._handle, pointer, size, slot)
        if not written:
            raise RuntimeError("llama.cpp gives no state of this lane")
        return state.data[:written]

    def load(self, slot: int, state: memoryview) -> bool:
        """See ``device.Device``."""
        data = np.frombuffer(state, np.uint8)
        pointer = data.ctypes.data_as(ctypes.POINTER(ctypes.c_uint8))
        return bool(C.llama_state_seq_set_data(self._handle, pointer, len(data), slot))

    def use_threads(self, count: int) -> None:
        """See ``device.Device``."""
        C.llama_set_n_threads(self._handle, count, count)

    def close(self) -> None:
        """Free the context; nothing may be asked of it afterwards."""
        C.llama_free(self._handle)

    def release(self, sequence: Sequence) -> None:
        """See ``device.Device``."""
        if sequence.drawing is not None:
            sequence.drawing.close()
            sequence.drawing = None
