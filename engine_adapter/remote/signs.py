"""By what each kind of engine is known: routes, and what they must say there. Pure data."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from engine_adapter.remote.kinds import Kind


@dataclass(frozen=True, slots=True)
class Reply:
    """What a route answered; ``told`` is its JSON, None where it is none."""

    path: str
    status: int
    headers: Mapping[str, str]
    body: bytes
    told: Any


@dataclass(frozen=True, slots=True)
class Sign:
    """``seen`` in the reply of ``path`` it speaks for ``kind``; where it ``proves`` it, nothing
    else needs to be looked at."""

    name: str
    path: str
    kind: Kind
    seen: Callable[[Reply], bool]
    proves: bool = True


def _owned_by(*owners: str) -> Callable[[Reply], bool]:
    def seen(reply: Reply) -> bool:
        rows = reply.told.get("data") if isinstance(reply.told, dict) else None
        first = rows[0] if isinstance(rows, list) and rows else None
        return isinstance(first, dict) and first.get("owned_by") in owners

    return seen


def _has(*keys: str) -> Callable[[Reply], bool]:
    def seen(reply: Reply) -> bool:
        told = reply.told
        return reply.status == 200 and isinstance(told, dict) and all(key in told for key in keys)

    return seen


def _says(word: bytes) -> Callable[[Reply], bool]:
    return lambda reply: reply.status == 200 and reply.body.strip().strip(b'"') == word


def _header(name: str, word: str = "") -> Callable[[Reply], bool]:
    return lambda reply: name in reply.headers and word in reply.headers[name].lower()


def _greets(reply: Reply) -> bool:
    return isinstance(reply.told, dict) and reply.told.get("lmstudio") is True


def _lists(reply: Reply) -> bool:
    return isinstance(reply.told, dict) and isinstance(reply.told.get("data"), list)


_LIST = "v1/models"

SIGNS = (
    # A gateway passes on what vLLM says, so its own marks are looked for first.
    Sign("header x-went-into-resp-headers", _LIST, "llmd", _header("x-went-into-resp-headers")),
    Sign("header x-llm-d-request-dropped-reason", _LIST, "llmd",
         _header("x-llm-d-request-dropped-reason")),
    Sign("models owned by vllm", _LIST, "vllm", _owned_by("vllm")),
    Sign("models owned by sglang", _LIST, "sglang", _owned_by("sglang")),
    Sign("models owned by tensorrt_llm", _LIST, "trtllm", _owned_by("tensorrt_llm")),
    Sign("header Server: llama.cpp", _LIST, "llamacpp", _header("server", "llama.cpp")),
    Sign("models owned by llamacpp", _LIST, "llamacpp", _owned_by("llamacpp")),
    Sign("greets as LM Studio", "lmstudio-greeting", "lmstudio", _greets),
    Sign("says that Ollama is running", "", "ollama", _says(b"Ollama is running")),
    Sign("says that SGLang is running", "", "sglang", _says(b"SGLang is running")),
    Sign("tells its slots", "props", "llamacpp", _has("total_slots", "chat_template")),
    Sign("tells its model as SGLang does", "model_info", "sglang",
         _has("model_path", "is_generation")),
    # Where the list is locked by a key, vLLM still tells its version; TensorRT-LLM does so too,
    # but has no key.
    Sign("tells a version", "version", "vllm", _has("version"), proves=False),
    Sign("lists models as OpenAI does", _LIST, "openai", _lists, proves=False),
)  # fmt: skip
"""In the order in which they are looked for."""

VERSION_AT: Mapping[Kind, str] = {
    "llamacpp": "props",
    "ollama": "api/version",
    "vllm": "version",
    "sglang": "server_info",
    "trtllm": "version",
}
"""Where each kind tells its version, if it does."""
