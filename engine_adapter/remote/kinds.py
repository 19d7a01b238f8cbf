"""Every kind of engine by name, and how each is opened. The one list of dialects."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Literal

from engine_adapter.remote.client import PATIENCE, Timeouts
from engine_adapter.remote.http_engine import Breath, HttpEngine
from engine_adapter.remote.llamacpp import LlamacppEngine
from engine_adapter.remote.llmd import LlmdEngine
from engine_adapter.remote.lmstudio import LmstudioEngine
from engine_adapter.remote.ollama import OllamaEngine
from engine_adapter.remote.openai import OpenAIEngine
from engine_adapter.remote.sglang import SglangEngine
from engine_adapter.remote.trtllm import TrtllmEngine
from engine_adapter.remote.vllm import VllmEngine

Kind = Literal["llamacpp", "ollama", "lmstudio", "vllm", "sglang", "trtllm", "llmd", "openai"]

ADAPTERS: Final[Mapping[Kind, type[HttpEngine]]] = {
    "llamacpp": LlamacppEngine,
    "ollama": OllamaEngine,
    "lmstudio": LmstudioEngine,
    "vllm": VllmEngine,
    "sglang": SglangEngine,
    "trtllm": TrtllmEngine,
    "llmd": LlmdEngine,
    "openai": OpenAIEngine,
}


def open_engine(
    kind: Kind,
    base_url: str,
    *,
    api_key: str | None = None,
    ca_file: str | None = None,
    timeouts: Timeouts = PATIENCE,
    breath: Breath | None = None,
) -> HttpEngine:
    """The adapter for the engine at ``base_url``; see ``HttpEngine``. Raises ``ValueError`` with a
    sentence for an address, key or file that cannot be used."""
    return ADAPTERS[kind](
        base_url, api_key=api_key, ca_file=ca_file, timeouts=timeouts, breath=breath
    )


def keeps_people_apart(kind: Kind) -> bool:
    """Whether an engine of this kind can be told not to share cached prompts between people. Where
    it cannot, one person can tell by the time to the first token what another has asked."""
    adapter = ADAPTERS[kind]
    return issubclass(adapter, OpenAIEngine) and "cache_salt" in adapter.extras
