"""What host and worker say to each other: JSON frames with their length in front.

Host to worker: ``{"ask": id, "request": …}``, ``{"cancel": id}``. Worker to host:
``{"loaded": {"context": n}}`` or ``{"refused": reason}`` once, then ``{"events": [[id, …], …]}``.
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
    Turn,
    Usage,
)

LARGEST = 64 << 20  # bytes of a frame; the HTTP body's cap is far below
Frame = dict[str, Any]


def pack(frame: Frame) -> bytes:
    """The frame as it goes over the line."""
    data = json.dumps(frame, ensure_ascii=False).encode()
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
    return Request(
        model=data["model"],
        turns=tuple(Turn(**turn) for turn in data["turns"]),
        sampling=Sampling(**{**data["sampling"], "stop": tuple(data["sampling"]["stop"])}),
        continue_final=data["continue_final"],
        priority=data["priority"],
        cache_salt=data["cache_salt"],
    )


def event_to_json(event: Event) -> Frame:
    """The inverse of ``event_from_json``."""
    if isinstance(event, Failed):
        error = event.error
        extra = {
            name: getattr(error, name)
            for name in ("retry_after", "prompt_tokens", "context_length")
            if hasattr(error, name)
        }
        return {"event": "failed", "error": error.code, "message": str(error), **extra}
    return {"event": type(event).__name__.lower(), **asdict(event)}


def _finished(data: Frame) -> Finished:
    usage = data["usage"]
    return Finished(data["reason"], None if usage is None else Usage(**usage))


def _failed(data: Frame) -> Failed:
    message = data["message"]
    kind = data["error"]
    if kind == Overloaded.code:
        return Failed(Overloaded(message, retry_after=data["retry_after"]))
    if kind == ContextTooLong.code:
        return Failed(
            ContextTooLong(
                message,
                prompt_tokens=data["prompt_tokens"],
                context_length=data["context_length"],
            )
        )
    plain: dict[str, type[EngineError]] = {
        Refused.code: Refused,
        Unreachable.code: Unreachable,
        Broken.code: Broken,
    }
    return Failed(plain.get(kind, EngineError)(message))


_EVENTS: dict[str, Callable[[Frame], Event]] = {
    "text": lambda data: Text(data["text"]),
    "reasoning": lambda data: Reasoning(data["text"]),
    "progress": lambda data: Progress(data["ahead"], data["computed"], data["total"]),
    "finished": _finished,
    "failed": _failed,
}


def event_from_json(data: Frame) -> Event:
    """The event of an ``events`` frame. Raises ``KeyError`` for what is none."""
    return _EVENTS[data["event"]](data)
