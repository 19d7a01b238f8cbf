"""The least that Python can do with llama.cpp: one loop, one stream a sequence, greedy tokens.

No server, no text, no scheduler. What our engine reaches through HTTP is measured against this.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import time

import llama_cpp.llama_cpp as C
import numpy as np

BATCH = 512


def main() -> None:
    """Print ``{"tokens_s": …, "step_ms": …}``."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model")
    for name, default in (("sequences", 16), ("depth", 2000), ("tokens", 64), ("threads", 2)):
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--plain-weights", action="store_true", help="do not repack the weights")
    asked = parser.parse_args()
    C.llama_backend_init()
    params = C.llama_model_default_params()
    params.use_extra_bufts = not asked.plain_weights
    model = C.llama_model_load_from_file(asked.model.encode(), params)
    loop = Loop(model, asked.sequences, asked.depth + asked.tokens + 1, asked.threads)
    loop.read(asked.depth)
    seconds = loop.write(asked.tokens)
    speed = asked.sequences * asked.tokens / seconds
    print(json.dumps({"tokens_s": speed, "step_ms": 1000 * seconds / asked.tokens}))


class Loop:
    """So many sequences, each in a stream of its own."""

    def __init__(self, model: C.llama_model_p, sequences: int, length: int, threads: int) -> None:
        params = C.llama_context_default_params()
        params.n_ctx = sequences * (-(-length // 256) * 256)
        params.n_seq_max = sequences
        params.kv_unified = False
        params.n_batch = params.n_ubatch = BATCH
        params.n_threads = params.n_threads_batch = threads
        self._context = C.llama_init_from_model(model, params)
        self._vocabulary = C.llama_n_vocab(C.llama_model_get_vocab(model))
        self._batch = C.llama_batch_init(max(BATCH, sequences), 0, 1)
        self._sampler = C.llama_sampler_init_greedy()
        self._sequences = sequences
        self._at = 0

    def read(self, depth: int) -> None:
        """Compute a prompt in the first sequence and copy its state into the others."""
        tokens = np.random.default_rng(7).integers(20, self._vocabulary, depth)
        for start in range(0, depth, BATCH):
            part = tokens[start : start + BATCH]
            self._decode([(int(t), start + i, 0) for i, t in enumerate(part)], outputs=False)
        size = C.llama_state_seq_get_size(self._context, 0)
        state = (ctypes.c_uint8 * size)()
        C.llama_state_seq_get_data(self._context, state, size, 0)
        for sequence in range(1, self._sequences):
            C.llama_state_seq_set_data(self._context, state, size, sequence)
        self._at = depth

    def write(self, count: int) -> float:
        """Let each write so many tokens; the seconds it took."""
        tokens = list(range(1000, 1000 + self._sequences))
        self._step(tokens)  # the first is not like the others
        began = time.perf_counter()
        for _ in range(count):
            tokens = self._step(tokens)
        return time.perf_counter() - began

    def _step(self, tokens: list[int]) -> list[int]:
        entries = [(token, self._at, sequence) for sequence, token in enumerate(tokens)]
        self._decode(entries, outputs=True)
        self._at += 1
        return [
            C.llama_sampler_sample(self._sampler, self._context, row) for row in range(len(tokens))
        ]

    def _decode(self, entries: list[tuple[int, int, int]], *, outputs: bool) -> None:
        batch = self._batch
        batch.n_tokens = len(entries)
        for row, (token, position, sequence) in enumerate(entries):
            batch.token[row] = token
            batch.pos[row] = position
            batch.n_seq_id[row] = 1
            batch.seq_id[row][0] = sequence
            batch.logits[row] = outputs
        if (result := C.llama_decode(self._context, batch)) != 0:
            raise SystemExit(f"llama_decode: {result}")


if __name__ == "__main__":
    main()
