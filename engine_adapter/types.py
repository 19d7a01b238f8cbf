"""The vocabulary every engine speaks: requests in, events out.

Frozen values only. Knows neither HTTP nor any particular engine.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from engine_adapter.errors import EngineError

Role = Literal["system", "user", "assistant"]
FinishReason = Literal["stop", "length", "cancelled", "other"]
ModelState = Literal["loaded", "loading", "failed", "available"]


@dataclass(frozen=True, slots=True)
class Turn:
    """One message of the prompt."""

    role: Role
    content: str


@dataclass(frozen=True, slots=True)
class Sampling:
    """How tokens are drawn. ``None`` leaves the choice to the engine's own default."""

    temperature: float | None = None
    top_p: float | None = None
    top_k: int | None = None
    min_p: float | None = None
    seed: int | None = None
    max_tokens: int | None = None
    stop: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Request:
    """One answer to be written.

    ``turns`` is the whole prompt, oldest first. With ``continue_final`` the last turn is an
    unfinished assistant turn and the engine writes on from its last character (vLLM's
    ``continue_final_message``); only engines that say ``ModelCard.continues`` can.
    ``priority`` follows vLLM: smaller goes first. ``cache_salt`` names the domain inside which a
    prompt's cached prefix may be shared; it is an opaque keyed hash, never a name.
    """

    model: str
    turns: tuple[Turn, ...]
    sampling: Sampling = field(default_factory=Sampling)
    continue_final: bool = False
    priority: int = 0
    cache_salt: str | None = None


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens read and written. ``cached_tokens`` of the prompt were not computed again."""

    prompt_tokens: int
    completion_tokens: int
    cached_tokens: int = 0


@dataclass(frozen=True, slots=True)
class Text:
    """The next piece of the answer: whole characters, never empty."""

    text: str


@dataclass(frozen=True, slots=True)
class Reasoning:
    """The next piece of the model's reasoning, kept apart from the answer."""

    text: str


@dataclass(frozen=True, slots=True)
class Progress:
    """What the request waits for before its first token.

    ``ahead`` requests are in line before this one (0 once it is being computed);
    ``computed`` of ``total`` prompt tokens are done.
    """

    ahead: int
    computed: int = 0
    total: int = 0


@dataclass(frozen=True, slots=True)
class Finished:
    """The answer ended in order. Last event of a stream. ``usage`` is ``None`` where unknown."""

    reason: FinishReason
    usage: Usage | None = None


@dataclass(frozen=True, slots=True)
class Failed:
    """The answer broke off. Last event of a stream; the text before it stands."""

    error: EngineError


Event = Text | Reasoning | Progress | Finished | Failed


@dataclass(frozen=True, slots=True)
class ModelCard:
    """What an engine tells about one model it serves.

    ``name`` is what a Request says; ``context_length`` is in tokens for one request, ``None``
    where the engine does not tell; ``sha256`` is of the model file where it is known; ``state``
    is None where the engine does not tell (an ``available`` model is loaded when it is asked).
    """

    name: str
    context_length: int | None = None
    size_bytes: int | None = None
    quantization: str | None = None
    sha256: str | None = None
    continues: bool = False
    state: ModelState | None = None
