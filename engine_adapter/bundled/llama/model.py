"""A model file in memory: its weights, what it tells about itself, and its vocabulary."""

from __future__ import annotations

import llama_cpp.llama_cpp as C

from engine_adapter.bundled.config import Loading
from engine_adapter.bundled.llama.log import Log
from engine_adapter.bundled.llama.vocabulary import Vocabulary


class ModelRefused(Exception):
    """llama.cpp does not load this file; the message is its reason."""


class Model:
    """The file of ``loading``, loaded. Raises ``ModelRefused``. ``handle`` is llama.cpp's own."""

    def __init__(self, loading: Loading) -> None:
        self.log = Log()
        C.llama_backend_init()
        params = C.llama_model_default_params()
        params.use_extra_bufts = loading.repack
        self.handle = C.llama_model_load_from_file(str(loading.path).encode(), params)
        if not self.handle:
            raise ModelRefused(self.log.cause or "llama.cpp cannot read the file")
        self.vocabulary = Vocabulary(self.handle)

    def lay_adapter_over(self, context: C.llama_context_p) -> None:
        """Put the LoRA adapter of ``loading``, where there is one, over all that is computed."""

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
