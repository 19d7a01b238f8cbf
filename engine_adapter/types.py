"""The vocabulary every engine speaks: requests in, events out.

Frozen values only. Knows neither HTTP nor any particular engine.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from engine_adapter.errors import EngineError
from engine_adapter.reasons import Reason

Role = Literal["system", "user", "assistant", "tool"]
FinishReason = Literal["stop", "length", "tool_calls", "cancelled", "other"]
ToolChoice = Literal["auto", "none", "required"]
ModelKind = Literal["text", "embeddings"]
ModelState = Literal["loaded", "loading", "failed", "available"]
Verdict = Literal["fits", "makes_room", "waits", "never"]


@dataclass(frozen=True, slots=True)
class Tool:
    """A function the model may call. ``parameters`` is its JSON schema, as JSON text."""

    name: str
    description: str = ""
    parameters: str = "{}"


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A call the model made in an earlier turn. ``arguments`` is JSON text."""

    id: str
    name: str
    arguments: str


@dataclass(frozen=True, slots=True)
class Turn:
    """One message of the prompt. ``tool_calls`` are an assistant's; a turn of role ``tool``
    is the result of the call ``tool_call_id``."""

    role: Role
    content: str
    tool_calls: tuple[ToolCall, ...] = ()
    tool_call_id: str | None = None


@dataclass(frozen=True, slots=True)
class Sampling:
    """How tokens are drawn. ``None`` leaves the choice to the engine's own default.

    Names and meanings are those of OpenAI and vLLM; the ``dry_*`` are those of llama.cpp's server
    (a ``dry_multiplier`` of None or 0 is off). ``logit_bias`` pairs token ids with what is added
    to their logits. ``logprobs`` is how many alternatives are told with each token's own
    probability, None for not at all. At most one of ``json_schema`` (JSON text) and ``grammar``
    (GBNF) binds the answer's form. With ``ignore_eos`` only ``max_tokens`` ends the answer.
    """

    temperature: float | None = None
    top_p: float | None = None
    top_k: int | None = None
    min_p: float | None = None
    typical_p: float | None = None
    repetition_penalty: float | None = None
    presence_penalty: float | None = None
    frequency_penalty: float | None = None
    dry_multiplier: float | None = None
    dry_base: float | None = None
    dry_allowed_length: int | None = None
    logit_bias: tuple[tuple[int, float], ...] = ()
    seed: int | None = None
    max_tokens: int | None = None
    stop: tuple[str, ...] = ()
    ignore_eos: bool = False
    logprobs: int | None = None
    json_schema: str | None = None
    grammar: str | None = None


@dataclass(frozen=True, slots=True)
class Request:
    """One answer to be written.

    ``turns`` is the whole prompt, oldest first. With ``continue_final`` the last turn is an
    unfinished assistant turn and the engine writes on from its last character (vLLM's
    ``continue_final_message``); only engines that say ``ModelCard.continues`` can.
    ``priority`` follows vLLM: smaller goes first. ``cache_salt`` names the domain inside which a
    prompt's cached prefix may be shared; it is an opaque keyed hash, never a name. The first
    ``public_turns`` turns are nobody's: an administrator's own text, whose cached state everybody
    may share. ``user`` is whose share of the engine this counts against, as opaque as the salt,
    which stands in for it where it is None. ``deadline_s`` seconds after it was asked the answer
    ends as it is, with ``length``; one that had not begun fails with ``Overloaded``.

    ``tools`` may be called as ``tool_choice`` says; ``tool_name`` narrows ``required`` to one.

    ``model_sha256`` is what ``ModelCard.sha256`` must be: an engine that can compare answers with
    no other file and fails with ``ModelChanged``.
    """

    model: str
    turns: tuple[Turn, ...]
    sampling: Sampling = field(default_factory=Sampling)
    continue_final: bool = False
    priority: int = 0
    cache_salt: str | None = None
    public_turns: int = 0
    user: str | None = None
    deadline_s: float | None = None
    tools: tuple[Tool, ...] = ()
    tool_choice: ToolChoice = "auto"
    tool_name: str | None = None
    model_sha256: str | None = None


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens read and written. ``cached_tokens`` of the prompt were not computed again."""

    prompt_tokens: int
    completion_tokens: int
    cached_tokens: int = 0


@dataclass(frozen=True, slots=True)
class TokenLogprob:
    """A token as bytes with the natural logarithm of its probability."""

    token: bytes
    logprob: float
    top: tuple[tuple[bytes, float], ...] = ()


@dataclass(frozen=True, slots=True)
class Text:
    """The next piece of the answer: whole characters, never empty. ``logprobs`` are those of the
    tokens drawn since the last piece, where they were asked for."""

    text: str
    logprobs: tuple[TokenLogprob, ...] = ()


@dataclass(frozen=True, slots=True)
class Reasoning:
    """The next piece of the model's reasoning, kept apart from the answer."""

    text: str


@dataclass(frozen=True, slots=True)
class ToolCallPiece:
    """The next piece of the answer's call number ``index``. The first piece of each call, and no
    other, carries its ``id`` and ``name``; ``arguments`` of all pieces together are JSON text."""

    index: int
    arguments: str
    id: str | None = None
    name: str | None = None


@dataclass(frozen=True, slots=True)
class Progress:
    """What the request waits for before its first token.

    ``ahead`` requests are in line before this one (0 once it is being computed);
    ``computed`` of ``total`` prompt tokens are done. ``engine`` is told where several serve the
    model: the tag of the one that is asked from now on.
    """

    ahead: int
    computed: int = 0
    total: int = 0
    engine: str | None = None


@dataclass(frozen=True, slots=True)
class Finished:
    """The answer ended in order. Last event of a stream. ``usage`` is ``None`` where unknown."""

    reason: FinishReason
    usage: Usage | None = None


@dataclass(frozen=True, slots=True)
class Failed:
    """The answer broke off. Last event of a stream; the text before it stands."""

    error: EngineError


Event = Text | Reasoning | ToolCallPiece | Progress | Finished | Failed


@dataclass(frozen=True, slots=True)
class FileFacts:
    """What a model's file tells of itself. ``trained_length`` is in tokens, what it was made for;
    an adapter has none, and no layers of its own to tell."""

    architecture: str
    parameters: int | None = None
    layers: int | None = None
    trained_length: int | None = None
    has_template: bool | None = None


@dataclass(frozen=True, slots=True)
class Outlook:
    """What would come of loading a model now, in bytes: it ``fits``, idle ones would be unloaded
    for it (``makes_room``), it ``waits`` for models that are in use, or it ``never`` loads. One
    that is loaded ``fits``, and needs what it takes."""

    need_bytes: int
    free_bytes: int
    verdict: Verdict


@dataclass(frozen=True, slots=True)
class ModelCard:
    """What an engine tells about one model it serves.

    ``name`` is what a Request says; ``context_length`` is in tokens for one request, ``None``
    where the engine does not tell; ``sha256`` names the content where it is known: it is of the
    model file, of an adapter's and its base's hex digits together, at Ollama of the manifest that
    names all parts by theirs; ``state`` is None where the engine does not tell (an ``available``
    model is loaded when it is asked).
    ``parent`` is the model that a LoRA adapter is laid over; ``reason`` why it is ``failed``, and
    ``why`` the same for pages, where the engine is ours. ``outlook`` is None where
    nobody can say; ``pinned`` ones are never unloaded for others, None where that cannot be had.
    ``vision`` (reads pictures), ``tools`` (can be given some) and ``reasoning`` (thinks before it
    speaks) are None where the engine does not tell.
    """

    name: str
    context_length: int | None = None
    size_bytes: int | None = None
    quantization: str | None = None
    sha256: str | None = None
    continues: bool = False
    state: ModelState | None = None
    kind: ModelKind = "text"
    parent: str | None = None
    reason: str | None = None
    vision: bool | None = None
    tools: bool | None = None
    reasoning: bool | None = None
    why: Reason | None = None
    facts: FileFacts | None = None
    outlook: Outlook | None = None
    pinned: bool | None = None


@dataclass(frozen=True, slots=True)
class Gauges:
    """How busy an engine is now; None wherever it does not tell.

    ``running`` and ``waiting`` are requests, ``slots`` how many can run at once, ``kv_use`` the
    share of its memory for contexts that is taken (0 to 1). The others count since the engine was
    started: ``prefix_hits`` is the share of prompt tokens that were not computed again,
    ``preempted`` are requests that had to be set back, ``written_tokens`` those of all answers;
    ``asked_tokens`` are those of prompts, ``found_tokens`` of them were not computed again.
    """

    running: int | None = None
    waiting: int | None = None
    slots: int | None = None
    kv_use: float | None = None
    prefix_hits: float | None = None
    preempted: int | None = None
    written_tokens: int | None = None
    asked_tokens: int | None = None
    found_tokens: int | None = None


@dataclass(frozen=True, slots=True)
class Pulled:
    """How far an engine's own download of a model is: bytes, and the step in its own words."""

    step: str
    done_bytes: int
    total_bytes: int


@dataclass(frozen=True, slots=True)
class Embeddings:
    """One vector a text, in their order, each of length 1 (Euclidean)."""

    vectors: tuple[tuple[float, ...], ...]
    prompt_tokens: int
