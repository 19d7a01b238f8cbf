"""What draws one token from a few candidates: a sampler chain in C, in llama.cpp's own order."""

from __future__ import annotations

import ctypes
import math
import secrets
import weakref
from collections.abc import Sequence as Many

import llama_cpp.llama_cpp as C
import numpy as np
from numpy.typing import NDArray

from engine_adapter.bundled.config import Defaults
from engine_adapter.bundled.llama.vocabulary import Vocabulary
from engine_adapter.errors import Broken, Refused
from engine_adapter.types import Sampling

SEED_RANGE = 1 << 32
WINDOW = 64  # tokens that penalties and DRY look back on, as in llama.cpp
BREAKERS = (b"\n", b":", b'"', b"*")  # DRY counts no repetition across these; llama.cpp's own
COLDEST = 1e-3  # below it the best token is as good as certain, and divisions overflow
RANGES = {
    "temperature": (0.0, 100.0),
    "top_p": (0.0, 1.0),
    "min_p": (0.0, 1.0),
    "typical_p": (0.0, 1.0),
    "repetition_penalty": (0.01, 100.0),
    "presence_penalty": (-100.0, 100.0),
    "frequency_penalty": (-100.0, 100.0),
    "dry_multiplier": (0.0, 100.0),
    "dry_base": (1.0, 100.0),
    "dry_allowed_length": (0, 1 << 20),
    "top_k": (-1, (1 << 31) - 1),
    "logprobs": (0, 1 << 20),
}
CANDIDATE = np.dtype([("id", np.int32), ("logit", np.float32), ("p", np.float32)])


def check(sampling: Sampling, vocabulary: Vocabulary) -> None:
    """Raise ``Refused`` where a value is none that tokens can be drawn by."""
    for name, (least, most) in RANGES.items():
        value = getattr(sampling, name)
        if value is not None and not least <= value <= most:  # NaN is refused too
            raise Refused(f"{name!r} must lie between {least} and {most}.")
    for token, bias in sampling.logit_bias:
        if not 0 <= token < vocabulary.size:
            raise Refused(f"'logit_bias' names a token that is none of {vocabulary.size}.")
        if not math.isfinite(bias):
            raise Refused("'logit_bias' must add finite numbers.")


class Chain:
    """Draws from candidates as ``sampling`` says. ``reach`` is how many of the best candidates
    suffice for exactly the draw that all would give, 0 where all are needed."""

    def __init__(
        self, vocabulary: Vocabulary, sampling: Sampling, defaults: Defaults, prompt: Many[int]
    ) -> None:
        self._make_room(0)
        self._candidates = C.llama_token_data_array()
        self._pointer = ctypes.byref(self._candidates)
        chain = C.llama_sampler_chain_init(C.llama_sampler_chain_default_params())
        self._chain = chain
        # Whoever cancels between the making and the first step leaves a chain that nobody closes.
        self._free = weakref.finalize(self, C.llama_sampler_free, chain)
        self._free.atexit = False
        self.biased = tuple(dict(sampling.logit_bias))
        if sampling.logit_bias:
            biases = (C.llama_logit_bias * len(self.biased))(*dict(sampling.logit_bias).items())
            self._add(C.llama_sampler_init_logit_bias(vocabulary.size, len(biases), biases))
        self.looks_back = self._add_memory(vocabulary, sampling)
        self.reach = self._add_choice(sampling, defaults)
        for token in prompt[-WINDOW:]:
            self.accept(token)

    @property
    def simple(self) -> bool:
        """Whether it takes the best token and looks at nothing else."""
        return self.reach == 1 and not self.looks_back and not self.biased

    def draw(self, ids: NDArray[np.integer], logits: NDArray[np.float32]) -> int:
        """One of the ids. Raises ``Broken`` where none can be drawn."""
        count = len(ids)
        if not count or not np.maximum.reduce(logits) > -np.inf:
            raise Broken("The model leaves no token for this answer.")
        if count > self._room:
            self._make_room(count)
        self._ids[:count] = ids
        self._logits[:count] = logits
        candidates = self._candidates
        candidates.data, candidates.size = self._data, count
        candidates.selected, candidates.sorted = -1, False
        C.llama_sampler_apply(self._chain, self._pointer)
        if not 0 <= candidates.selected < candidates.size:
            raise Broken("The engine could draw no token for this answer.")
        return int(candidates.data[candidates.selected].id)

    def _make_room(self, count: int) -> None:
        self._room = max(count, 512)
        table = np.empty(self._room, CANDIDATE)
        self._ids, self._logits = table["id"], table["logit"]
        self._data = table.ctypes.data_as(ctypes.POINTER(C.llama_token_data))

    def accept(self, token: int) -> None:
        """Remember a token that was read or written."""
        C.llama_sampler_accept(self._chain, token)

    def close(self) -> None:
        """Free what C holds."""
        self._free()

    def _add(self, sampler: C.llama_sampler_p) -> None:
        C.llama_sampler_chain_add(self._chain, sampler)  # which owns it from now on

    def _add_memory(self, vocabulary: Vocabulary, sampling: Sampling) -> bool:
        """Add what looks back on earlier tokens; tell whether anything does."""
        repetition = _value(sampling.repetition_penalty, 1.0)
        frequency = _value(sampling.frequency_penalty, 0.0)
        presence = _value(sampling.presence_penalty, 0.0)
        penalised = (repetition, frequency, presence) != (1.0, 0.0, 0.0)
        if penalised:
            self._add(
                C.llama_sampler_init_penalties(
                    vocabulary.size, WINDOW, repetition, frequency, presence
                )
            )
        if sampling.dry_multiplier:
            # Looking for the breakers in all tokens takes 17 ms (49k tokens), once an answer.
            self._add(
                C.llama_sampler_init_dry(
                    vocabulary.handle,
                    sampling.dry_multiplier,
                    _value(sampling.dry_base, 1.75),
                    2 if sampling.dry_allowed_length is None else sampling.dry_allowed_length,
                    WINDOW,
                    (ctypes.c_char_p * len(BREAKERS))(*BREAKERS),
                    len(BREAKERS),
                )
            )
        return penalised or bool(sampling.dry_multiplier)

    def _add_choice(self, sampling: Sampling, defaults: Defaults) -> int:
        temperature = _value(sampling.temperature, defaults.temperature)
        if temperature < COLDEST:
            self._add(C.llama_sampler_init_greedy())
            return 1
        seed = secrets.randbelow(SEED_RANGE) if sampling.seed is None else sampling.seed
        top_k = defaults.top_k if sampling.top_k is None else sampling.top_k
        typical = _value(sampling.typical_p, 1.0)
        if top_k > 0:
            self._add(C.llama_sampler_init_top_k(top_k))
        if typical < 1:
            self._add(C.llama_sampler_init_typical(typical, 1))
        self._add(C.llama_sampler_init_top_p(_value(sampling.top_p, defaults.top_p), 1))
        self._add(C.llama_sampler_init_min_p(_value(sampling.min_p, defaults.min_p), 1))
        self._add(C.llama_sampler_init_temp(temperature))
        self._add(C.llama_sampler_init_dist(seed % SEED_RANGE))
        return max(top_k, 0)


def _value(asked: float | None, default: float) -> float:
    return default if asked is None else asked
