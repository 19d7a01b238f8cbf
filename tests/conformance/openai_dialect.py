"""The part that all imitated engines of OpenAI's dialect share: a ScriptedEngine behind its routes.

Each engine's own habits are in profiles.py.
"""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from typing import Any

from engine_adapter.errors import ContextTooLong, EngineError, Overloaded, Refused
from engine_adapter.scripted import ScriptedEngine
from engine_adapter.types import (
    Event,
    Failed,
    Finished,
    Reasoning,
    Request,
    Sampling,
    Text,
    Turn,
    Usage,
)
from tests.conformance.server import Call, Reply, Stream, of

DONE = b"data: [DONE]\n\n"
Json = dict[str, Any]


class OpenAIDialect:
    """A server of nothing but OpenAI's own routes and fields."""

    any_model = False
    """Whether it answers with its one model whatever name it is asked for."""
    reasoning = "reasoning_content"
    headers: Mapping[str, str] = {"Content-Type": "text/event-stream; charset=utf-8"}

    def __init__(self, engine: ScriptedEngine) -> None:
        self.engine = engine

    # What a profile says otherwise

    def routes(self) -> Mapping[str, Reply]:
        """What is answered to GET."""
        return {"/v1/models": of({"object": "list", "data": [self.listed()]})}

    def listed(self) -> Json:
        """Its one model in the list."""
        return {"id": self.model, "object": "model", "created": 1, "owned_by": "someone"}

    def frame(self, delta: Json, finish: str | None = None) -> Json:
        """One frame of the answer."""
        choice = {"index": 0, "delta": delta, "finish_reason": finish}
        return {"id": "x", "object": "chat.completion.chunk", "choices": [choice]}

    def first(self) -> Json | None:
        """The frame before the first token."""
        return self.frame({"role": "assistant", "content": ""})

    def last(self, finish: str) -> Json:
        """The frame that tells the end."""
        return self.frame({}, finish)

    def usage(self, usage: Usage) -> Json:
        """The frame behind it."""
        told = {"prompt_tokens": usage.prompt_tokens, "completion_tokens": usage.completion_tokens}
        total = usage.prompt_tokens + usage.completion_tokens
        return {"id": "x", "choices": [], "usage": told | {"total_tokens": total}}

    def too_long(self, error: ContextTooLong) -> Reply:
        """What is answered to a prompt that does not fit."""
        text = (
            f"This model's maximum context length is {error.context_length} tokens. However, your"
            f" messages resulted in {error.prompt_tokens} tokens."
        )
        told = {"message": text, "type": "invalid_request_error", "param": "messages"}
        return of({"error": told | {"code": "context_length_exceeded"}}, 400)

    def busy(self) -> Reply | Stream:
        """What is answered when it is full."""
        told = {"message": "Rate limit reached", "type": "rate_limit_exceeded", "code": None}
        return of({"error": told}, 429, {"Retry-After": "7"})

    def broken(self) -> list[bytes]:
        """What comes when it fails in the middle, before the end; of none the line breaks."""
        return [self.sse({"error": {"message": "words", "type": "server_error", "code": None}})]

    def failed(self, error: EngineError) -> Reply:
        """What is answered when nothing else fits."""
        status = 404 if isinstance(error, Refused) else 500
        message = f"The model `{'x' if status == 404 else 'y'}` failed."
        return of({"error": {"message": message, "type": "error", "code": None}}, status)

    def sse(self, frame: Json) -> bytes:
        """A frame as bytes."""
        return b"data: " + json.dumps(frame, ensure_ascii=False).encode() + b"\n\n"

    # What they share

    @property
    def model(self) -> str:
        return self.engine.script.model

    @property
    def context(self) -> int:
        return self.engine.script.context_length

    async def reply(self, call: Call) -> Reply | Stream:
        """See ``Profile``."""
        if call.method == "GET":
            return self.routes().get(call.path.partition("?")[0]) or of({"detail": "?"}, 404)
        if call.path != "/v1/chat/completions":
            return of({"detail": "Not Found"}, 404)
        events = self.engine.stream(self.asked(call.body))
        first = await anext(events)
        if isinstance(first, Failed):
            await events.aclose()
            return self.refused(first.error)
        return Stream(self.pieces(first, events, call), self.headers)

    def refused(self, error: EngineError) -> Reply | Stream:
        """What is answered instead of a stream."""
        if isinstance(error, ContextTooLong):
            return self.too_long(error)
        return self.busy() if isinstance(error, Overloaded) else self.failed(error)

    def asked(self, body: Json) -> Request:
        """The scripted engine's request behind a call."""
        return Request(
            model=self.model if self.any_model else body["model"],
            turns=tuple(Turn(m["role"], m["content"]) for m in body["messages"]),
            sampling=Sampling(
                max_tokens=body.get("max_tokens"), stop=tuple(body.get("stop") or ())
            ),
            continue_final=bool(body.get("continue_final_message")),
        )

    async def pieces(
        self, first: Event, events: AsyncGenerator[Event, None], call: Call
    ) -> AsyncGenerator[bytes, None]:
        """The frames of an answer."""
        opening = self.first()
        async with aclosing(events):
            event = first
            while True:
                if isinstance(event, Text | Reasoning):
                    if opening:
                        yield self.sse(opening)
                        opening = None
                    name = "content" if isinstance(event, Text) else self.reasoning
                    yield self.sse(self.frame({name: event.text}))
                if isinstance(event, Finished):
                    yield self.sse(self.last(event.reason))
                    if event.usage and call.body["stream_options"]["include_usage"]:
                        yield self.sse(self.usage(event.usage))
                    yield DONE
                    return
                if isinstance(event, Failed):
                    pieces = self.broken()
                    for piece in pieces:
                        yield piece
                    if not pieces:
                        raise ConnectionAbortedError
                    return
                event = await anext(events)
