"""``python -m tests.bench.vocabulary FILE``: the tokens that end an answer, as a JSON list."""

from __future__ import annotations

import json
import sys

import llama_cpp.llama_cpp as C


def closing_tokens(path: str) -> list[int]:
    """The end-of-generation tokens of a GGUF file; its weights are not read."""
    params = C.llama_model_default_params()
    params.vocab_only = True
    model = C.llama_model_load_from_file(path.encode(), params)
    if not model:
        raise SystemExit("llama.cpp cannot read it")
    vocabulary = C.llama_model_get_vocab(model)
    return [
        token
        for token in range(C.llama_vocab_n_tokens(vocabulary))
        if C.llama_vocab_is_eog(vocabulary, token)
    ]


if __name__ == "__main__":
    C.llama_backend_init()
    print(json.dumps(closing_tokens(sys.argv[1])))
