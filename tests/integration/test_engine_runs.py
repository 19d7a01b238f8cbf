"""A letter that is repeated without end, at a real model whose texts llama.cpp splits with a
std::regex, which overflows the stack: it is counted, and nobody dies of it."""

from __future__ import annotations

import asyncio
from pathlib import Path

from tests import gguf
from tests.integration.engine_hosts import running_host
from tests.integration.engine_http import asking, client_of

LETTERS = 60_000  # four of them are one token
SPLITTING = "tokenizer.ggml.pre"
BEGINNING = "tokenizer.ggml.add_bos_token"


def lay_models(folder: Path, starter: Path) -> None:
    """The starter model with Mistral's rules for splitting text and a token before and after
    each text; to talk to and to embed with."""
    file = starter.read_bytes()
    for key, old, new in ((SPLITTING, "smollm", "tekken"), (BEGINNING, False, True)):
        assert file.count(gguf.entry(key, old)) == 1
        file = file.replace(gguf.entry(key, old), gguf.entry(key, new))
    file = gguf.with_entry(file, "tokenizer.ggml.add_eos_token", True)
    for name in ("talks", "embeds"):
        (folder / f"{name}.gguf").write_bytes(file)
    (folder / "embeds.toml").write_text('kind = "embeddings"')


async def test_a_run_without_end_is_counted_and_harms_nobody(
    starter_model: Path, tmp_path: Path
) -> None:
    models = tmp_path / "models"
    models.mkdir()
    await asyncio.to_thread(lay_models, models, starter_model)
    size = ("--slots", "2", "--context", "512")
    with running_host(tmp_path, "--models", models, *size) as host:
        async with client_of(host) as http:
            said = asking("a" * LETTERS, model="talks")
            asked = {"model": "embeds", "input": ["a", "a" * LETTERS]}
            for path, body, framing in (
                ("/v1/chat/completions", said, range(10, 80)),
                ("/v1/embeddings", asked, range(2, 3)),
            ):
                reply = await http.post(path, json=body)
                error = reply.json()["error"]
                assert (reply.status_code, error["code"]) == (400, "context_length_exceeded")
                assert error["n_prompt_tokens"] - LETTERS // 4 in framing
            vectors = await http.post("/v1/embeddings", json=asked | {"input": "a" * 40})
            assert vectors.json()["usage"]["prompt_tokens"] == 10 + 2
            deaths = (await http.get("/metrics")).text
            assert 'konak:worker_deaths_total{model_name="embeds"} 0' in deaths
            assert 'konak:worker_deaths_total{model_name="talks"} 0' in deaths
