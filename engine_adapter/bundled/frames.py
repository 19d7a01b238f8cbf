"""What host and worker say to each other: JSON frames with their length in front.

Host to worker: ``{"ask": id, "request": …}``, ``{"embed": id, "texts": […]}``, ``{"cancel": id}``.
Worker to host: ``{"loaded": …}`` or ``{"refused": reason}`` once, then ``{"events": [[id, …], …]}``
and what ``process.py`` hears besides. An event, one a token of an answer, is a short list.
"""

from __future__ import annotations

import asyncio
import json
import struct
from collections.abc import Callable
from dataclasses import asdict
from typing import Any

from engine_adapter.errors import (
    Broken,
    ContextTooLong,
    EngineError,
    Overloaded,
    Refused,
    Unreachable,
)
from engine_adapter.types import (
    Event,
    Failed,
    Finished,
    Progress,
    Reasoning,
    Request,
    Sampling,
    Text,
    TokenLogprob,
    Tool,
    ToolCall,
    ToolCallPiece,
    Turn,
    Usage,
)

LARGEST = 64 << 20  # bytes of a frame; the HTTP body's cap is far below
Frame = dict[str, Any]
EventJson = list[Any]
_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode


def pack(frame: Frame) -> bytes:
    """The frame as it goes over the line."""
    # Half a surrogate pair, wherever it may come from, arrives as it went: json reads it so.
    data = _encode(frame).encode("utf-8", "surrogatepass")
    return struct.pack(">I", len(data)) + data


async def receive(reader: asyncio.StreamReader) -> Frame | None:
    """The next frame; None when the other side is gone or speaks nonsense."""
    try:
        (length,) = struct.unpack(">I", await reader.readexactly(4))
        if length > LARGEST:
            return None
        frame = json.loads(await reader.readexactly(length))
    except (asyncio.IncompleteReadError, ConnectionError, ValueError):
        return None
    return frame if isinstance(frame, dict) else None


def request_to_json(request: Request) -> Frame:
    """The inverse of ``request_from_json``."""
    return asdict(request)


def request_from_json(data: Frame) -> Request:
    """The request of an ``ask`` frame."""
    sampling = data["sampling"]
    return Request(
        **{
            **data,
            "turns": tuple(_turn(turn) for turn in data["turns"]),
            "sampling": Sampling(
                **{
                    **sampling,
                    "stop": tuple(sampling["stop"]),
                    "logit_bias": tuple((token, bias) for token, bias in sampling["logit_bias"]),
                }
            ),
            "tools": tuple(Tool(**tool) for tool in data["tools"]),
        }
    )


def _turn(data: Frame) -> Turn:
    calls = tuple(ToolCall(**call) for call in data["tool_calls"])
    return Turn(**{**data, "tool_calls": calls})


def event_to_json(event: Event) -> EventJson:
    """The inverse of ``event_from_json``."""
    match event:
        case Text(text, ()):
            return ["t", text]
        case Text(text, logprobs):
            return ["t", text, [_logprob_to_json(one) for one in logprobs]]
        case Reasoning(text):
            return ["r", text]
        case ToolCallPiece(index, arguments, id_, name):
            return ["c", index, arguments, id_, name]
        case Progress(ahead, computed, total):
            return ["p", ahead, computed, total]
        case Finished(reason, None):
            return ["f", reason]
        case Finished(reason, Usage(prompt, completion, cached)):
            return ["f", reason, prompt, completion, cached]
        case Failed(error):
            return ["x", error.code, str(error), _numbers(error)]
    raise TypeError(f"{type(event).__name__} is no event")


def event_from_json(data: EventJson) -> Event:
    """The event of an ``events`` frame. Raises ``KeyError`` for what is none."""
    if data[0] == "t" and len(data) == 2:
        return Text(data[1])
    return _EVENTS[data[0]](*data[1:])


# JSON has no bytes: each becomes the character of its number.
def _logprob_to_json(one: TokenLogprob) -> list[Any]:
    top = [[token.decode("latin-1"), logprob] for token, logprob in one.top]
    return [one.token.decode("latin-1"), one.logprob, top]


def _logprob(token: str, logprob: float, top: list[tuple[str, float]]) -> TokenLogprob:
    return TokenLogprob(
        token.encode("latin-1"), logprob, tuple((one.encode("latin-1"), p) for one, p in top)
    )


def _numbers(error: EngineError) -> Frame:
    if isinstance(error, Overloaded):
        return {"retry_after": error.retry_after}
    if isinstance(error, ContextTooLong):
        return {"prompt_tokens": error.prompt_tokens, "context_length": error.context_length}
    return {}


_ERRORS: dict[str, Callable[..., EngineError]] = {
    kind.code: kind
    for kind in (EngineError, Unreachable, Overloaded, Refused, ContextTooLong, Broken)
}
_EVENTS: dict[str, Callable[..., Event]] = {
    "t": lambda text, logprobs: Text(text, tuple(_logprob(*one) for one in logprobs)),
    "r": Reasoning,
    "c": ToolCallPiece,
    "p": Progress,
    "f": lambda reason, *usage: Finished(reason, Usage(*usage) if usage else None),
    "x": lambda code, message, numbers: Failed(_ERRORS.get(code, EngineError)(message, **numbers)),
}
