"""Ollama: an imitation out of its source and documentation, which was never seen running."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Any

from engine_adapter.errors import ContextTooLong, Overloaded
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
from tests.conformance.server import Call, Reply, Stream, of, whole

Json = dict[str, Any]


class Ollama:
    """A ScriptedEngine behind Ollama's own routes."""

    def __init__(self, engine: ScriptedEngine) -> None:
        self.engine = engine
        self.loaded = True
        self.pulls: list[Json] = []

    async def reply(self, call: Call) -> Reply | Stream:
        """See ``Profile``."""
        body = call.body or {}
        match (call.method, call.path):
            case ("GET", "/"):
                return Reply(200, b"Ollama is running", {"Content-Type": "text/plain"})
            case ("GET", "/api/version"):
                return of({"version": "0.33.0"})
            case ("GET", "/api/tags"):
                return of({"models": [self._tag(), _CLOUD]})
            case ("GET", "/api/ps"):
                row = {"name": self.name, "context_length": self.engine.script.context_length}
                return of({"models": [row] if self.loaded else []})
            case ("POST", "/api/show"):
                return of({"capabilities": ["completion", "tools", "thinking"], "parameters": ""})
            case ("POST", "/api/pull"):
                rows = [json.dumps(row).encode() + b"\n" for row in self.pulls]
                return Stream(whole(*rows), _NDJSON)
            case ("POST", "/api/chat") if not body.get("messages"):
                self.loaded = body.get("keep_alive") != 0
                done = "load" if self.loaded else "unload"
                return of({"model": self.name, "done": True, "done_reason": done})
            case ("POST", "/api/chat"):
                return await self._chat(body)
        return Reply(404, b"404 page not found")

    @property
    def name(self) -> str:
        return self.engine.script.model

    def _tag(self) -> Json:
        details = {"family": "llama", "parameter_size": "135M", "quantization_level": "Q4_1"}
        return {"name": self.name, "model": self.name, "size": 9, "digest": "d", "details": details}

    async def _chat(self, body: Json) -> Reply | Stream:
        if body["model"] != self.name:
            return of({"error": f"model '{body['model']}' not found"}, 404)
        assert body["truncate"] is False
        options = body.get("options", {})
        request = Request(
            model=self.name,
            turns=tuple(Turn(m["role"], m["content"]) for m in body["messages"]),
            sampling=Sampling(
                max_tokens=options.get("num_predict"), stop=tuple(options.get("stop", ()))
            ),
        )
        events = self.engine.stream(request)
        first = await anext(events)
        if isinstance(first, Failed):
            await events.aclose()
            if isinstance(first.error, Overloaded):
                return of({"error": "server busy, please try again.  maximum pending"}, 503)
            assert isinstance(first.error, ContextTooLong)
            return of({"error": "the input length exceeds the context length"}, 400)
        return Stream(self._answer(first, events), _NDJSON)

    async def _answer(
        self, first: Event, events: AsyncGenerator[Event, None]
    ) -> AsyncGenerator[bytes, None]:
        async with aclosing(events):
            event = first
            while True:
                if isinstance(event, Text):
                    yield self._line(content=event.text)
                if isinstance(event, Reasoning):
                    yield self._line(content="", thinking=event.text)
                if isinstance(event, Finished):
                    yield self._last(event)
                    return
                if isinstance(event, Failed):
                    yield b'{"error":"words"}\n'
                    return
                event = await anext(events)

    def _line(self, **message: str) -> bytes:
        head = {"model": self.name, "created_at": "2026-11-30T00:00:00.000000000Z"}
        told = head | {"message": {"role": "assistant", **message}, "done": False}
        return json.dumps(told, ensure_ascii=False).encode() + b"\n"

    def _last(self, end: Finished) -> bytes:
        assert isinstance(end.usage, Usage)
        counts = {
            "total_duration": 1,
            "prompt_eval_count": end.usage.prompt_tokens,
            "eval_count": end.usage.completion_tokens,
        }
        told = {name: count for name, count in counts.items() if count}
        head = {"model": self.name, "message": {"role": "assistant", "content": ""}}
        return json.dumps(head | {"done": True, "done_reason": end.reason} | told).encode() + b"\n"


_NDJSON = {"Content-Type": "application/x-ndjson"}
_CLOUD = {
    "name": "gpt-oss:120b-cloud",
    "model": "gpt-oss:120b-cloud",
    "remote_model": "gpt-oss:120b",
    "remote_host": "https://ollama.com:443",
    "size": 384,
    "digest": "c",
    "details": {},
}
