"""One streamed answer of Ollama's own dialect: lines of JSON in, events out. Pure."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from engine_adapter.errors import Broken, EngineError
from engine_adapter.remote import faults, pieces
from engine_adapter.remote.answer import REASONS, whole_characters
from engine_adapter.remote.cards import number, part
from engine_adapter.remote.ndjson import Lines
from engine_adapter.remote.sse import TooLong
from engine_adapter.thinking import ThinkingTags
from engine_adapter.types import Event, Failed, Finished, Reasoning, Text, Usage


class OllamaAnswer:
    """Reads one answer; see ``answer.Answer``, whose use is the same."""

    def __init__(self) -> None:
        self.begun = False
        self._lines = Lines()
        self._tags: ThinkingTags | None = ThinkingTags()
        self._last: Mapping[str, Any] | None = None
        self._error: EngineError | None = None
        self._calls = pieces.Calls()
        self._called = 0

    @property
    def over(self) -> bool:
        """Whether the engine said that nothing more follows."""
        return self._last is not None or self._error is not None

    def feed(self, chunk: bytes) -> Iterator[Event]:
        """The events that these bytes of the stream complete."""
        try:
            lines = self._lines.feed(chunk)
        except TooLong as error:
            self.fail(Broken(f"The engine's stream cannot be read: {error}.").because("too_much"))
            return
        for row in lines:
            yield from self._read(row)

    def fail(self, error: EngineError) -> None:
        """Note what broke the stream."""
        self._error = error

    def end(self) -> Iterator[Event]:
        """What was held back, then the one last event."""
        if not self.over and (rest := self._lines.rest()):
            yield from self._read(rest)
        if self._tags is not None:
            yield from self._tags.flush()
        if self._error is None and self._last is None:
            self._error = Broken("The engine's stream ended before the answer did.")
        if self._error is None and self._last is not None and not self._last.get("done_reason"):
            # Its layer for OpenAI's dialect would call this a stop.
            self._error = Broken("The engine gave the answer up without saying why.")
        if self._error is None and self._last is not None:
            yield _finished(self._last, called=self._calls.any)
        elif self.begun and not isinstance(self._error, Broken):
            yield Failed(Broken(f"The engine failed in the middle of the answer: {self._error}"))
        elif self._error is not None:
            yield Failed(self._error)

    def _read(self, row: bytes) -> Iterator[Event]:
        if self.over:
            return
        try:
            told = _parsed(row)
            if (error := faults.from_frame(told)) is not None:
                raise error
            if told.get("remote_host"):
                raise Broken("The engine has this answer written by somebody outside.")
            yield from self._message(part(told, "message"))
            if told.get("done") is True:
                self._last = told
        except EngineError as error:
            self.fail(error)

    def _message(self, message: Mapping[str, Any]) -> Iterator[Event]:
        thought, content = message.get("thinking"), message.get("content")
        if isinstance(thought, str) and thought:
            self.begun = True
            self._tags = None  # an engine that tells reasoning apart leaves no tags in the text
            yield Reasoning(whole_characters(thought))
        if content is not None and not isinstance(content, str):
            raise Broken("The engine sent content that is not text.")
        if content:
            self.begun = True
            spoken = whole_characters(content)
            yield from self._tags.feed(spoken) if self._tags else [Text(spoken)]
        if message.get("tool_calls"):
            self.begun = True
            if self._tags is not None:
                yield from self._tags.flush()
                self._tags = None
            yield from self._calls.feed(self._numbered(message["tool_calls"]))

    def _numbered(self, calls: object) -> object:
        """Calls come whole; those of one answer may all have the same number, or none."""
        if not isinstance(calls, list):
            return calls
        first = self._called
        self._called += len(calls)
        return [
            call | {"index": at} if isinstance(call, dict) else call
            for at, call in enumerate(calls, first)
        ]


def _parsed(row: bytes) -> Mapping[str, Any]:
    try:
        told = json.loads(row)
    except (ValueError, RecursionError):
        raise Broken("The engine sent a line that is not JSON.").because("dialect") from None
    if not isinstance(told, dict):
        raise Broken("The engine sent a line that is not an object.").because("dialect")
    return told


def _finished(last: Mapping[str, Any], *, called: bool) -> Finished:
    reason = REASONS.get(str(last["done_reason"]), "other")
    if reason == "stop" and called:
        reason = "tool_calls"
    # A number of zero is left out; a prompt found whole in the cache counts as none.
    if "prompt_eval_count" not in last and "eval_count" not in last:
        return Finished(reason)
    read, written = number(last.get("prompt_eval_count")), number(last.get("eval_count"))
    return Finished(reason, Usage(read or 0, written or 0))
