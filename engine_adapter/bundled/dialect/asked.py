"""What a body asks for. What is not understood is refused, so that nobody gets another answer than
the one that was asked for."""

from __future__ import annotations

from dataclasses import dataclass, replace

from engine_adapter.bundled.dialect import messages, sampling
from engine_adapter.bundled.dialect.fields import BadRequest, Fields, clean, load
from engine_adapter.types import Request

MOST_CHOICES = 16
MOST_TEXTS = 2048
LONGEST_DEADLINE_S = 86_400.0

# Fields that would change the answer and are not offered, with the values that ask for nothing.
UNSUPPORTED: dict[str, tuple[object, ...]] = {
    "functions": (None, []),
    "function_call": (None, "auto", "none"),
    "parallel_tool_calls": (None, True),
    "audio": (None,),
    "modalities": (None, ["text"]),
    "prediction": (None,),
    "web_search_options": (None,),
    "min_tokens": (None, 0),
    "stop_token_ids": (None, []),
    "structured_outputs": (None,),
}


@dataclass(frozen=True, slots=True)
class Asked:
    """A request, how many answers to it are wanted and how they are to be sent."""

    request: Request
    choices: int
    stream: bool
    include_usage: bool
    return_progress: bool

    def requests(self) -> list[Request]:
        """One request an answer. A seed gives each answer its own."""
        drawn = self.request.sampling
        if drawn.seed is None:
            return [self.request] * self.choices
        # The largest seed has none above it: they go round.
        span, least = 1 << 64, -(1 << 63)
        seeds = [(drawn.seed + nth - least) % span + least for nth in range(self.choices)]
        return [replace(self.request, sampling=replace(drawn, seed=seed)) for seed in seeds]


def parse(body: bytes) -> Asked:
    """The body of ``POST /v1/chat/completions``. Raises ``BadRequest``."""
    fields = Fields(load(body))
    for name, allowed in UNSUPPORTED.items():
        value = fields.data.get(name)
        if not any(_same(value, one) for one in allowed):
            raise fields.refuse(name, "is not supported with this value.")
    options = fields.inner("stream_options")
    return Asked(
        _request(fields),
        choices=fields.whole("n", 1, MOST_CHOICES) or 1,
        stream=fields.flag("stream"),
        include_usage=options.flag("include_usage"),
        return_progress=fields.flag("return_progress"),
    )


def _same(value: object, allowed: object) -> bool:
    """Equal, where 0.0 is 0 and True is not 1."""
    return value == allowed and isinstance(value, bool) == isinstance(allowed, bool)


def _request(fields: Fields) -> Request:
    continue_final = fields.flag("continue_final_message")
    if fields.data.get("add_generation_prompt") not in (None, not continue_final):
        raise BadRequest(
            "Exactly one of 'add_generation_prompt' and 'continue_final_message' can be true.",
            "add_generation_prompt",
        )
    turns = messages.turns(fields.data.get("messages"))
    if continue_final and (turns[-1].role != "assistant" or turns[-1].tool_calls):
        raise BadRequest("The last message must be the assistant's to be continued.", "messages")
    salt = fields.text("cache_salt", most=256)
    if salt == "":
        raise fields.refuse("cache_salt", "must not be empty.")
    tools = messages.tools(fields)
    choice, tool_name = messages.tool_choice(fields, tools)
    return Request(
        model=fields.name("model"),
        turns=turns,
        sampling=sampling.read(fields),
        continue_final=continue_final,
        priority=fields.whole("priority", -(1 << 31), 1 << 31) or 0,
        cache_salt=salt,
        public_turns=fields.whole("public_turns", 0, len(turns)) or 0,
        user=fields.text("user", most=512) or None,
        deadline_s=fields.number("deadline_s", 0.001, LONGEST_DEADLINE_S),
        tools=tools,
        tool_choice=choice,
        tool_name=tool_name,
        model_sha256=fields.text("model_sha256", most=64) or None,
    )


@dataclass(frozen=True, slots=True)
class Embedded:
    """Texts that are to become vectors; as base64 of little-endian floats, or as numbers."""

    model: str
    texts: tuple[str, ...]
    base64: bool


def parse_embeddings(body: bytes) -> Embedded:
    """The body of ``POST /v1/embeddings``. Raises ``BadRequest``."""
    fields = Fields(load(body))
    if fields.data.get("dimensions") is not None:
        raise fields.refuse("dimensions", "is not supported: a vector is as long as the model's.")
    given = fields.data.get("input")
    texts = [given] if isinstance(given, str) else given
    if not isinstance(texts, list) or not 1 <= len(texts) <= MOST_TEXTS:
        raise fields.refuse("input", f"must be a string or 1 to {MOST_TEXTS} strings.")
    if not all(isinstance(text, str) and text for text in texts):
        raise fields.refuse("input", "must hold strings that are not empty.")
    form = fields.text("encoding_format") or "float"
    if form not in ("float", "base64"):
        raise fields.refuse("encoding_format", "must be float or base64.")
    return Embedded(fields.name("model"), tuple(map(clean, texts)), base64=form == "base64")
