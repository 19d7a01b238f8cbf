"""A model file in memory: its weights, what it tells about itself, and its vocabulary."""

from __future__ import annotations

import ctypes

import llama_cpp.llama_cpp as C

from engine_adapter.bundled.llama.log import Log
from engine_adapter.bundled.llama.vocabulary import Vocabulary
from engine_adapter.bundled.loading import Loading
from engine_adapter.reasons import Reason, why


class ModelRefused(Exception):
    """llama.cpp does not load this file, or nothing could be done with it; ``why`` says why."""

    def __init__(self, reason: Reason) -> None:
        super().__init__(str(reason))
        self.why = reason


class Model:
    """The file of ``loading``, loaded. Raises ``ModelRefused``. ``handle`` is llama.cpp's own."""

    def __init__(self, loading: Loading) -> None:
        self.log = Log()
        C.llama_backend_init()
        params = C.llama_model_default_params()
        params.use_extra_bufts = loading.repack
        params.n_gpu_layers = loading.settings.gpu_layers
        self.handle = C.llama_model_load_from_file(str(loading.path).encode(), params)
        if not self.handle:
            raise ModelRefused(why("llama_refuses", words=self.log.cause or "?"))
        self.vocabulary = Vocabulary(self.handle)
        self._adapter = self._read_adapter(loading)

    def _read_adapter(self, loading: Loading) -> C.llama_adapter_lora_p | None:
        """Lives as long as the model. Of a damaged one llama.cpp says what is wrong."""
        if loading.adapter is None:
            return None
        adapter = C.llama_adapter_lora_init(self.handle, str(loading.adapter).encode())
        if not adapter:
            cause = self.log.cause or "?"
            raise ModelRefused(why("adapter_misfit", file=loading.path.name, words=cause))
        if C.llama_adapter_get_alora_n_invocation_tokens(adapter):
            raise ModelRefused(why("adapter_mid_prompt"))
        return adapter

    def lay_adapter_over(self, context: C.llama_context_p) -> None:
        """Put the LoRA adapter of ``loading``, where there is one, over all that is computed."""
        if self._adapter is None:
            return
        adapters = (C.llama_adapter_lora_p_ctypes * 1)(self._adapter)
        scales = (ctypes.c_float * 1)(1.0)
        if C.llama_set_adapters_lora(context, adapters, 1, scales) != 0:
            raise ModelRefused(why("adapter_not_laid"))

    def told(self, key: str) -> str | None:
        """What the file tells under ``key``; None where it does not."""
        buffer = ctypes.create_string_buffer(256)
        length = C.llama_model_meta_val_str(self.handle, key.encode(), buffer, len(buffer))
        return None if length < 0 else buffer.value.decode("utf-8", "replace")

    @property
    def trained_context(self) -> int:
        """Tokens the model was trained to read."""
        return int(C.llama_model_n_ctx_train(self.handle))

    @property
    def writes(self) -> bool:
        """Whether it writes text, token after token."""
        return bool(
            C.llama_model_has_decoder(self.handle) and not C.llama_model_has_encoder(self.handle)
        )

    @property
    def template(self) -> str | None:
        """The model's own chat template, None where the file has none."""
        found = C.llama_model_chat_template(self.handle, None)
        return found.decode("utf-8", "replace") if found else None
