"""A context that turns texts into vectors: several texts a step, a sequence each."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence as Many

import llama_cpp.llama_cpp as C
import numpy as np

from engine_adapter.bundled import attention
from engine_adapter.bundled.attention import FLASH_ATTENTION
from engine_adapter.bundled.config import Settings
from engine_adapter.bundled.llama.batch import Batch
from engine_adapter.bundled.llama.model import Model, ModelRefused
from engine_adapter.reasons import why

NONE = str(C.LLAMA_POOLING_TYPE_NONE)


class Embedder:
    """Vectors of length 1, pooled as the model says, or else as the mean over its tokens.

    ``context`` is the longest text in tokens. Lives in one thread. Raises ``ModelRefused``.
    """

    def __init__(self, model: Model, settings: Settings) -> None:
        self._model = model
        self.context = min(settings.context, model.trained_context)
        self.texts = settings.slots
        # llama.cpp pools a text that it computes in one piece.
        self.tokens = max(settings.batch_tokens, self.context)
        self._handle = self._open(settings)
        self._memory = C.llama_get_memory(self._handle)
        self._compute = C.llama_decode if self._memory else C.llama_encode
        self.width = int(C.llama_model_n_embd_out(model.handle))
        self._batch = Batch(self.tokens)
        if C.llama_pooling_type(self._handle) == C.LLAMA_POOLING_TYPE_RANK:
            raise ModelRefused(why("ranks_only"))
        self.compute([[0, 0, 0]])  # a build for another processor dies here

    def _open(self, settings: Settings) -> C.llama_context_p:
        params = C.llama_context_default_params()
        params.n_ctx = params.n_batch = params.n_ubatch = self.tokens
        params.n_seq_max = self.texts
        params.kv_unified = True  # nothing stays: the texts of one step share the cells
        params.embeddings = True
        params.n_threads = params.n_threads_batch = settings.thread_count
        # Whole texts are read at once, and that is twice as fast over f16, with a card or without.
        params.type_k = params.type_v = attention.cache_type(settings.kv_type, card=True).ggml
        params.flash_attn_type = FLASH_ATTENTION[settings.flash_attention]
        architecture = self._model.told("general.architecture")
        if self._model.told(f"{architecture}.pooling_type") in (None, NONE):
            params.pooling_type = C.LLAMA_POOLING_TYPE_MEAN
        context = C.llama_init_from_model(self._model.handle, params)
        if not context:
            cause = self._model.log.cause or "?"
            raise ModelRefused(why("no_context_room", lanes=1, context=self.context, words=cause))
        self._model.lay_adapter_over(context)
        return context

    def compute(self, texts: Many[Many[int]]) -> list[np.ndarray]:
        """A vector for each of at most ``texts`` texts with at most ``tokens`` tokens in all.
        Raises ``RuntimeError`` where llama.cpp computes nothing."""
        batch, at = self._batch, 0
        for number, text in enumerate(texts):
            upto = at + len(text)
            batch.tokens[at:upto] = text
            batch.positions[at:upto] = np.arange(len(text))
            batch.slots[at:upto] = number
            at = upto
        batch.outputs[:at] = 1
        batch.struct.n_tokens = at
        if self._memory:
            C.llama_memory_clear(self._memory, False)
        if (result := self._compute(self._handle, batch.struct)) != 0:
            raise RuntimeError(f"llama.cpp computes no embeddings ({result})")
        return [self._vector(number) for number in range(len(texts))]

    def _vector(self, number: int) -> np.ndarray:
        found = C.llama_get_embeddings_seq(self._handle, number)
        if not found:
            raise RuntimeError("llama.cpp gives no vector of a text")
        pointer = ctypes.cast(found, ctypes.POINTER(ctypes.c_float))
        vector = np.ctypeslib.as_array(pointer, (self.width,)).astype(np.float64)
        length = float(np.linalg.norm(vector))
        return (vector / length if length > 0 else vector).astype(np.float32)
