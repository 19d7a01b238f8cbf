"""OpenAI's chat dialect, the server's side: what a body asks for, and the frames of an answer.

Pure: JSON values in, ``Request`` and JSON values out. What is not understood is refused, so that
nobody gets another answer than the one that was asked for.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from typing import Any, cast, get_args

from engine_adapter.errors import (
    Broken,
    ContextTooLong,
    EngineError,
    Overloaded,
    Refused,
    Unreachable,
)
from engine_adapter.types import Finished, ModelCard, Request, Role, Sampling, Turn, Usage

MOST_STOPS = 16
LONGEST_STOP = 256
SMALLEST, LARGEST = -(1 << 63), (1 << 63) - 1
Json = dict[str, Any]

# Fields that would change the answer and are not offered, with the values that ask for nothing.
UNSUPPORTED: dict[str, tuple[object, ...]] = {
    "n": (None, 1),
    "tools": (None, []),
    "functions": (None, []),
    "response_format": (None, {"type": "text"}),
    "logprobs": (None, False),
    "top_logprobs": (None, 0),
    "logit_bias": (None, {}),
    "presence_penalty": (None, 0),
    "frequency_penalty": (None, 0),
    "repetition_penalty": (None, 1),
    "audio": (None,),
}


class BadRequest(Exception):
    """The body cannot be understood; the text says why, ``param`` where."""

    def __init__(self, message: str, param: str | None = None) -> None:
        super().__init__(message)
        self.param = param


@dataclass(frozen=True, slots=True)
class Asked:
    """A request and how its answer is to be sent."""

    request: Request
    stream: bool
    include_usage: bool
    return_progress: bool


def parse(body: bytes) -> Asked:
    """The body of ``POST /v1/chat/completions``. Raises ``BadRequest``."""
    fields = _Fields(_load(body))
    for name, allowed in UNSUPPORTED.items():
        value = fields.data.get(name)
        if not any(_same(value, one) for one in allowed):
            raise BadRequest(f"'{name}' is not supported with this value.", name)
    continue_final = fields.flag("continue_final_message")
    generation = fields.data.get("add_generation_prompt")
    if generation not in (None, not continue_final):
        raise BadRequest(
            "Exactly one of 'add_generation_prompt' and 'continue_final_message' can be true.",
            "add_generation_prompt",
        )
    turns = _turns(fields.data.get("messages"))
    if continue_final and turns[-1].role != "assistant":
        raise BadRequest("The last message must be the assistant's to be continued.", "messages")
    options = _Fields(fields.data.get("stream_options") or {}, "stream_options")
    return Asked(
        Request(
            model=fields.text("model", needed=True) or "",
            turns=turns,
            sampling=_sampling(fields),
            continue_final=continue_final,
            priority=fields.whole("priority", -(1 << 31), 1 << 31) or 0,
            cache_salt=fields.text("cache_salt"),
        ),
        stream=fields.flag("stream"),
        include_usage=options.flag("include_usage"),
        return_progress=fields.flag("return_progress"),
    )


def _same(value: object, allowed: object) -> bool:
    """Equal, where 0.0 is 0 and True is not 1."""
    return value == allowed and isinstance(value, bool) == isinstance(allowed, bool)


def _load(body: bytes) -> object:
    def refuse(name: str) -> None:
        raise BadRequest(f"The body is not JSON: {name} is no number.")

    try:
        return json.loads(body, parse_constant=refuse)
    except RecursionError:
        raise BadRequest("The body is nested too deeply.") from None
    except ValueError:
        raise BadRequest("The body is not JSON.") from None


class _Fields:
    """Typed readers over a JSON object; null is the same as absent."""

    def __init__(self, data: object, name: str = "The body") -> None:
        if not isinstance(data, dict):
            raise BadRequest(f"{name} must be a JSON object.")
        self.data = data

    def flag(self, name: str) -> bool:
        value = self.data.get(name)
        if value is not None and not isinstance(value, bool):
            raise BadRequest(f"'{name}' must be true or false.", name)
        return bool(value)

    def text(self, name: str, *, needed: bool = False) -> str | None:
        value = self.data.get(name)
        if value is None and not needed:
            return None
        if not isinstance(value, str) or (needed and not value):
            raise BadRequest(f"'{name}' must be a string.", name)
        return _clean(value)

    def whole(self, name: str, least: int, most: int) -> int | None:
        value = self.data.get(name)
        if value is None:
            return None
        if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
            raise BadRequest(f"'{name}' must be a whole number from {least} to {most}.", name)
        return value

    def number(self, name: str, least: float, most: float) -> float | None:
        value = self.data.get(name)
        if value is None:
            return None
        fits = isinstance(value, int | float) and not isinstance(value, bool)
        if not fits or not math.isfinite(value) or not least <= value <= most:
            raise BadRequest(f"'{name}' must be a number from {least:g} to {most:g}.", name)
        return float(value)


def _sampling(fields: _Fields) -> Sampling:
    newer = fields.whole("max_completion_tokens", 1, LARGEST)
    older = fields.whole("max_tokens", 1, LARGEST)
    return Sampling(
        temperature=fields.number("temperature", 0, 2),
        top_p=fields.number("top_p", 0, 1),
        top_k=fields.whole("top_k", -1, (1 << 31) - 1),
        min_p=fields.number("min_p", 0, 1),
        seed=fields.whole("seed", SMALLEST, LARGEST),
        max_tokens=older if newer is None else newer,
        stop=_stop(fields.data.get("stop")),
    )


def _stop(value: object) -> tuple[str, ...]:
    stops = [] if value is None else [value] if isinstance(value, str) else value
    if not isinstance(stops, list) or len(stops) > MOST_STOPS:
        raise BadRequest(f"'stop' must be a string or up to {MOST_STOPS} strings.", "stop")
    for stop in stops:
        if not isinstance(stop, str) or not 0 < len(stop) <= LONGEST_STOP:
            raise BadRequest(f"A stop string has 1 to {LONGEST_STOP} characters.", "stop")
    return tuple(_clean(stop) for stop in stops)


def _turns(messages: object) -> tuple[Turn, ...]:
    if not isinstance(messages, list) or not messages:
        raise BadRequest("'messages' must be a list of at least one message.", "messages")
    return tuple(_turn(message, f"messages[{at}]") for at, message in enumerate(messages))


def _turn(message: object, where: str) -> Turn:
    if not isinstance(message, dict):
        raise BadRequest(f"{where} must be an object.", where)
    role = message.get("role")
    role = "system" if role == "developer" else role
    if role not in get_args(Role):
        raise BadRequest(f"{where} has no role that is known here.", f"{where}.role")
    return Turn(cast(Role, role), _clean(_text(message.get("content"), where)))


def _text(content: object, where: str) -> str:
    """A message's text: a string, or a list of parts that are all text."""
    if isinstance(content, list):
        for part in content:
            if not isinstance(part, dict) or part.get("type") != "text":
                raise BadRequest("Only text can be read here.", f"{where}.content")
        return "".join(_text(part.get("text"), where) for part in content)
    if not isinstance(content, str):
        raise BadRequest(f"{where} has no text as its content.", f"{where}.content")
    return content


def _clean(text: str) -> str:
    """Half a surrogate pair, as cut JavaScript strings have it, is no character: U+FFFD."""
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


# ---- what goes out ------------------------------------------------------------------------------


class Answer:
    """The JSON values of one answer."""

    def __init__(self, id_: str, created: int, model: str) -> None:
        self._head: Json = {"id": id_, "created": created, "model": model}

    def whole(self, text: str, reasoning: str, finished: Finished) -> Json:
        """The reply that is not streamed."""
        message: Json = {"role": "assistant", "content": text}
        if reasoning:
            message["reasoning_content"] = reasoning
        choice = {"index": 0, "message": message, "finish_reason": _reason(finished)}
        reply: Json = {**self._head, "object": "chat.completion", "choices": [choice]}
        if finished.usage is not None:
            reply["usage"] = usage(finished.usage)
        return reply

    def delta(self, delta: Json, finished: Finished | None = None) -> Json:
        """A frame with the next piece, or with the end."""
        reason = None if finished is None else _reason(finished)
        return self.frame([{"index": 0, "delta": delta, "finish_reason": reason}])

    def frame(self, choices: list[Json], **more: Any) -> Json:
        """Any frame of the stream."""
        return {**self._head, "object": "chat.completion.chunk", "choices": choices, **more}


def _reason(finished: Finished) -> str:
    return "length" if finished.reason == "length" else "stop"


def usage(usage: Usage) -> Json:
    """The usage object. Cached tokens are told only where there are some."""
    value: Json = {
        "prompt_tokens": usage.prompt_tokens,
        "completion_tokens": usage.completion_tokens,
        "total_tokens": usage.prompt_tokens + usage.completion_tokens,
    }
    if usage.cached_tokens:
        value["prompt_tokens_details"] = {"cached_tokens": usage.cached_tokens}
    return value


def model(card: ModelCard, created: int) -> Json:
    """One entry of ``GET /v1/models``."""
    continues = ["continue_final_message"] if card.continues else []
    return {
        "id": card.name,
        "object": "model",
        "created": created,
        "owned_by": "konak",
        "max_model_len": card.context_length,
        "meta": {
            "n_ctx": card.context_length,
            "size": card.size_bytes,
            "quantization": card.quantization,
            "sha256": card.sha256,
            "state": card.state,
        },
        "capabilities": ["completion", *continues],
    }


def error(message: str, kind: str, code: str, param: str | None = None, **more: object) -> Json:
    """The error object, the same as a reply's body and as a frame."""
    return {"error": {"message": message, "type": kind, "param": param, "code": code, **more}}


def failure(cause: EngineError) -> tuple[int, Json]:
    """HTTP status and error object of what an engine failed with."""
    message = str(cause)
    if isinstance(cause, ContextTooLong):
        numbers = {"n_prompt_tokens": cause.prompt_tokens, "n_ctx": cause.context_length}
        return 400, error(message, "invalid_request_error", cause.code, "messages", **numbers)
    if isinstance(cause, Refused):
        return 400, error(message, "invalid_request_error", cause.code)
    if isinstance(cause, Overloaded):
        return 429, error(message, "overloaded_error", cause.code)
    if isinstance(cause, Unreachable):
        return 503, error(message, "unavailable_error", cause.code)
    code = cause.code if isinstance(cause, Broken) else EngineError.code
    return 500, error(message, "server_error", code)
