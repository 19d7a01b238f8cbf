"""The only file that speaks to llama.cpp: a model, its context, its vocabulary, its samplers.

Uses the low-level C interface; the conventions of ``llama_decode`` are those of llama.h. Knows no
requests and no text of people beyond turning it into tokens.
"""

from __future__ import annotations

import ctypes
import secrets
import sys
from collections.abc import Sequence as Many
from pathlib import Path

import llama_cpp.llama_cpp as C
import numpy as np

from engine_adapter.bundled.config import Defaults, Loading
from engine_adapter.bundled.scheduler import Portion
from engine_adapter.bundled.sequence import Sequence
from engine_adapter.types import Sampling

ERROR_LEVEL = 4  # GGML_LOG_LEVEL_ERROR; what is less is chatter
SEED_RANGE = 1 << 32


class ModelRefused(Exception):
    """llama.cpp does not load this file; the message is its reason."""


class _Log:
    """llama.cpp's errors go to stderr, and the first, which tells the cause, is kept."""

    def __init__(self) -> None:
        self.cause = ""
        self._callback = C.llama_log_callback(self._write)  # C keeps no reference: we do
        C.llama_log_set(self._callback, ctypes.c_void_p(0))

    def _write(self, level: int, text: bytes, _data: int) -> None:
        if level == ERROR_LEVEL and (line := text.decode("utf-8", "replace").strip()):
            self.cause = self.cause or line
            print(f"llama.cpp: {line}", file=sys.stderr, flush=True)


class _Batch:
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

    def fill(self, portions: Many[Portion]) -> dict[int, int]:
        """Write the portions; return, by slot, the row whose logits a token is drawn from."""
        self.outputs[:] = 0
        rows: dict[int, int] = {}
        at = 0
        for portion in portions:
            start, end = portion.start, portion.start + portion.count
            slot = portion.sequence.slot
            if slot is None:
                raise ValueError("a portion needs a slot")
            upto = at + portion.count
            self.tokens[at:upto] = portion.sequence.known[start:end]
            self.positions[at:upto] = np.arange(start, end)
            self.slots[at:upto] = slot
            if portion.closes:
                self.outputs[upto - 1] = 1
                rows[slot] = upto - 1
            at = upto
        self.struct.n_tokens = at
        return rows


class Llama:
    """A loaded model with one context of ``slots`` lanes. Raises ``ModelRefused``.

    Lives in one thread, but ``tokenize`` may be called from any: the vocabulary never changes.
    """

    def __init__(self, loading: Loading, defaults: Defaults | None = None) -> None:
        self._log = _Log()
        self._defaults = defaults or Defaults()
        settings = loading.settings
        C.llama_backend_init()
        self._model = self._load(loading.path, loading.repack)
        self.context = min(settings.context, C.llama_model_n_ctx_train(self._model))
        self._context = self._open(settings.slots, settings.thread_count, settings.batch_tokens)
        self._memory = C.llama_get_memory(self._context)
        self._vocabulary = C.llama_model_get_vocab(self._model)
        self._batch = _Batch(settings.batch_tokens)
        self._rows: dict[int, int] = {}
        self._samplers: dict[int, C.llama_sampler_p] = {}
        self._pieces: dict[int, bytes] = {}
        self._check()

    def _load(self, path: Path, repack: bool) -> C.llama_model_p:
        params = C.llama_model_default_params()
        params.use_extra_bufts = repack
        model = C.llama_model_load_from_file(str(path).encode(), params)
        if not model:
            raise ModelRefused(self._log.cause or "llama.cpp cannot read the file")
        if C.llama_model_has_encoder(model) or not C.llama_model_has_decoder(model):
            raise ModelRefused("this model does not write text")
        return model

    def _open(self, slots: int, threads: int, batch: int) -> C.llama_context_p:
        params = C.llama_context_default_params()
        params.n_ctx = slots * self.context
        params.n_seq_max = slots
        params.kv_unified = False  # each slot attends over its own cells only
        params.n_batch = batch
        params.n_ubatch = batch
        params.n_outputs_max = slots
        params.n_threads = params.n_threads_batch = threads
        context = C.llama_init_from_model(self._model, params)
        if not context:
            raise ModelRefused(
                f"no context of {slots} × {self.context} tokens: {self._log.cause or 'no memory'}"
            )
        return context

    def _check(self) -> None:
        """Compute two tokens. A build for another processor dies here, at once and in loading,
        and not in somebody's answer."""
        probe = Sequence(id=-1, known=[0, 0], room=1, slot=0)
        if (result := self.decode([Portion(probe, 0, 2)])) != 0:
            raise ModelRefused(f"the model loads but computes nothing (llama_decode: {result})")
        self.draw(probe)
        self.release(probe)
        self.keep(0, 0)

    # ---- computing ------------------------------------------------------------------------

    def decode(self, portions: Many[Portion]) -> int:
        """See ``loop.Device``."""
        self._rows = self._batch.fill(portions)
        result: int = C.llama_decode(self._context, self._batch.struct)
        if result != 0:
            self._rows = {}
        return result

    def draw(self, sequence: Sequence) -> int:
        """See ``loop.Device``. Raises ``KeyError`` where ``decode`` left no logits for it: asking
        llama.cpp for logits that are not there ends the process."""
        if sequence.slot is None:
            raise ValueError("only a running sequence draws tokens")
        row = self._rows[sequence.slot]
        chain = self._samplers.get(sequence.id)
        if chain is None:
            chain = self._samplers[sequence.id] = self._chain(sequence.sampling)
        token: int = C.llama_sampler_sample(chain, self._context, row)
        return token

    def _chain(self, sampling: Sampling) -> C.llama_sampler_p:
        """A sampler chain in C, in llama.cpp's own order. The chain owns what is added to it."""
        chosen = self._defaults

        def value(asked: float | None, default: float) -> float:
            return default if asked is None else asked

        chain = C.llama_sampler_chain_init(C.llama_sampler_chain_default_params())
        temperature = value(sampling.temperature, chosen.temperature)
        if temperature <= 0:
            C.llama_sampler_chain_add(chain, C.llama_sampler_init_greedy())
            return chain
        seed = secrets.randbelow(SEED_RANGE) if sampling.seed is None else sampling.seed
        top_k = chosen.top_k if sampling.top_k is None else sampling.top_k
        for sampler in (
            C.llama_sampler_init_top_k(top_k),
            C.llama_sampler_init_top_p(value(sampling.top_p, chosen.top_p), 1),
            C.llama_sampler_init_min_p(value(sampling.min_p, chosen.min_p), 1),
            C.llama_sampler_init_temp(temperature),
            C.llama_sampler_init_dist(seed % SEED_RANGE),
        ):
            C.llama_sampler_chain_add(chain, sampler)
        return chain

    def keep(self, slot: int, count: int) -> None:
        """See ``loop.Device``."""
        if not C.llama_memory_seq_rm(self._memory, slot, count, -1):
            raise RuntimeError(f"this model's memory cannot be cut to {count} tokens")

    def release(self, sequence: Sequence) -> None:
        """See ``loop.Device``."""
        if chain := self._samplers.pop(sequence.id, None):
            C.llama_sampler_free(chain)

    # ---- vocabulary -----------------------------------------------------------------------

    def ends(self, token: int) -> bool:
        """See ``loop.Device``: end of turn, of text and whatever else the model calls an end."""
        return bool(C.llama_vocab_is_eog(self._vocabulary, token))

    def piece(self, token: int) -> bytes:
        """See ``loop.Device``."""
        known = self._pieces.get(token)
        if known is None:
            known = self._pieces[token] = self._text(token, special=False)
        return known

    def _text(self, token: int, *, special: bool) -> bytes:
        size = 64
        while True:
            buffer = ctypes.create_string_buffer(size)
            length = C.llama_token_to_piece(self._vocabulary, token, buffer, size, 0, special)
            if length >= 0:
                return buffer.raw[:length]
            size = -length

    def tokenize(self, text: str, *, markers: bool) -> list[int]:
        """Tokens of the text. Only with ``markers`` may a token be a control token."""
        data = text.encode()
        room = len(data) + 8
        tokens = np.zeros(room, np.int32)
        count = C.llama_tokenize(
            self._vocabulary,
            data,
            len(data),
            tokens.ctypes.data_as(ctypes.POINTER(C.llama_token)),
            room,
            False,
            markers,
        )
        if count < 0:
            raise ValueError("llama.cpp does not tokenise this text")
        result: list[int] = tokens[:count].tolist()
        return result

    @property
    def bos(self) -> int | None:
        """The token that must begin every prompt, None where the model wants none."""
        wanted = C.llama_vocab_get_add_bos(self._vocabulary)
        return int(C.llama_vocab_bos(self._vocabulary)) if wanted else None

    def marker(self, kind: str) -> str:
        """Text of the ``bos`` or ``eos`` token, '' where the model has none."""
        find = {"bos": C.llama_vocab_bos, "eos": C.llama_vocab_eos}[kind]
        token = find(self._vocabulary)
        return "" if token < 0 else self._text(token, special=True).decode("utf-8", "replace")

    @property
    def template(self) -> str | None:
        """The model's own chat template, None where the file has none."""
        found = C.llama_model_chat_template(self._model, None)
        return found.decode("utf-8", "replace") if found else None
