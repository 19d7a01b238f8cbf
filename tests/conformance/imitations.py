"""Which profile imitates which kind of engine, and what each kind does not do."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from engine_adapter.remote.kinds import Kind
from engine_adapter.scripted import ScriptedEngine
from tests.conformance.ollama import Ollama
from tests.conformance.openai_dialect import OpenAIDialect
from tests.conformance.profiles import Llamacpp, Llmd, Lmstudio, Sglang, Trtllm, Vllm
from tests.conformance.server import Profile

PROFILES: Final[Mapping[Kind, Callable[[ScriptedEngine], Profile]]] = {
    "llamacpp": Llamacpp,
    "ollama": Ollama,
    "lmstudio": Lmstudio,
    "vllm": Vllm,
    "sglang": Sglang,
    "trtllm": Trtllm,
    "llmd": Llmd,
    "openai": OpenAIDialect,
}
TELLS_NO_LENGTH: Final[frozenset[str]] = frozenset({"trtllm", "openai"})
"""Kinds whose model list says nothing of the context length."""
COUNTS_NO_PROMPT: Final[frozenset[str]] = frozenset({"ollama"})
"""Kinds that do not say how long a prompt was that is too long."""
