"""How one answer's tokens are drawn: a sampler chain in C, in llama.cpp's own order."""

from __future__ import annotations

import secrets

import llama_cpp.llama_cpp as C

from engine_adapter.bundled.config import Defaults
from engine_adapter.bundled.llama.vocabulary import Vocabulary
from engine_adapter.bundled.sequence import Drawn
from engine_adapter.types import Sampling

SEED_RANGE = 1 << 32


class Sampler:
    """Draws the tokens of one answer. Raises ``Refused`` for what no sampler can be made of.

    Made in any thread, used and closed in the one that owns the context.
    """

    def __init__(self, vocabulary: Vocabulary, sampling: Sampling, defaults: Defaults) -> None:
        self._vocabulary = vocabulary
        self._defaults = defaults
        self._chain = self._make(sampling)

    def draw(self, context: C.llama_context_p, row: int) -> Drawn:
        """The next token, from the logits of this row of the last batch."""
        token: int = C.llama_sampler_sample(self._chain, context, row)
        return Drawn(token)

    def close(self) -> None:
        """Free what C holds."""
        C.llama_sampler_free(self._chain)

    def _make(self, sampling: Sampling) -> C.llama_sampler_p:
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
