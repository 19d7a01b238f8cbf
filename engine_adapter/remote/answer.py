"""One streamed answer of the OpenAI dialect: frames in, events out.

Pure. Bears with every habit seen in engines that claim the dialect; knows no HTTP.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from engine_adapter.errors import Broken, EngineError
from engine_adapter.remote import faults, pieces, sse
from engine_adapter.thinking import ThinkingTags
from engine_adapter.types import (
    Event,
    Failed,
    Finished,
    FinishReason,
    Progress,
    Reasoning,
    Text,
    TokenLogprob,
    Usage,
)

REASONS: dict[str, FinishReason] = {
    "stop": "stop",
    "eos": "stop",
    "eos_token": "stop",
    "stop_sequence": "stop",
    "length": "length",
    "max_tokens": "length",
    "tool_calls": "tool_calls",
    "function_call": "tool_calls",
    "cancelled": "cancelled",
}
_SURROGATE = re.compile("[\ud800-\udfff]")


class Answer:
    """Reads one answer: ``feed()`` it bytes until ``over``, then ``end()`` it.

    ``begun`` once a piece of the answer came, ``over`` once no more bytes are needed. With
    ``calls_tell`` an answer that calls tools ends with them, though the engine said "stop": some
    end every answer so.
    """

    def __init__(self, tags: ThinkingTags | None, *, calls_tell: bool = False) -> None:
        self.begun = False
        self._calls_tell = calls_tell
        self._parser = sse.Parser()
        self._tags = tags
        self._done = False
        self._error: EngineError | None = None
        self._reason: str | None = None
        self._usage: Mapping[str, Any] | None = None
        self._half = ""
        self._calls = pieces.Calls()
        self._drawn: list[TokenLogprob] = []

    @property
    def over(self) -> bool:
        """Whether the engine said that nothing more follows."""
        return self._done or self._error is not None

    def feed(self, chunk: bytes) -> Iterator[Event]:
        """The events that these bytes of the stream complete."""
        try:
            frames = self._parser.feed(chunk)
        except sse.TooLong as error:
            self.fail(Broken(f"The engine's stream cannot be read: {error}."))
            return
        for frame in frames:
            yield from self._read(frame.data, named_error=frame.event == "error")

    def _read(self, data: str, *, named_error: bool) -> Iterator[Event]:
        data = data.strip()
        if not data or self.over:
            return
        if data == "[DONE]":
            self._done = True
            return
        try:
            frame = _parsed(data)
            error = faults.from_frame(frame)
            if error is not None or named_error:
                raise error or Broken("The engine reported a failure.")
            yield from self._frame(frame)
        except EngineError as error:
            self.fail(error)

    def fail(self, error: EngineError) -> None:
        """Note what broke the stream."""
        self._error = error

    def end(self) -> Iterator[Event]:
        """What was held back, then the one last event."""
        if self._half:
            self._half = ""
            yield from self._spoken("\ufffd")
        yield from self._flush()
        # What breaks after the engine told the end takes nothing from the answer.
        if self._reason is not None or (self._done and self.begun and not self._error):
            yield Finished(self._finish(), _usage(self._usage))
        elif self._error is None:
            yield Failed(Broken("The engine's stream ended before the answer did."))
        elif self.begun and not isinstance(self._error, Broken):
            # Half an answer is out, so asking again is no longer the same request.
            yield Failed(Broken(f"The engine failed in the middle of the answer: {self._error}"))
        else:
            yield Failed(self._error)

    def _finish(self) -> FinishReason:
        reason = REASONS.get(self._reason or "", "other")
        called = self._calls_tell and self._calls.any
        return "tool_calls" if reason == "stop" and called else reason

    def _frame(self, frame: Mapping[str, Any]) -> Iterator[Event]:
        if isinstance(frame.get("usage"), dict):
            self._usage = frame["usage"]
        if not self.begun and isinstance(frame.get("progress"), dict):
            yield _progress(frame["progress"])
        if not self.begun and isinstance(frame.get("prompt_progress"), dict):
            read = frame["prompt_progress"]  # llama.cpp's server tells it so
            yield Progress(0, _number(read, "processed"), _number(read, "total"))
        # The list is empty in frames for usage, progress and whatever an engine has thought of.
        for choice in frame.get("choices") or ():
            if isinstance(choice, dict) and not choice.get("index"):
                yield from self._choice(choice)

    def _choice(self, choice: Mapping[str, Any]) -> Iterator[Event]:
        # A finish ends nothing: some engines send content with it, or go on after reasoning.
        if isinstance(choice.get("finish_reason"), str):
            self._reason = choice["finish_reason"]
            if self._reason == "error":
                self._reason = None
                raise Broken("The engine ended the answer with an error.")
        delta = choice.get("delta")
        if not isinstance(delta, dict):
            return
        if choice.get("logprobs"):
            self._drawn += pieces.logprobs(choice["logprobs"])
        names = ("reasoning_content", "reasoning", "thinking")
        thought = next((t for n in names if isinstance(t := delta.get(n), str) and t), "")
        if thought:
            self.begun = True
            self._tags = None  # an engine that tells reasoning apart leaves no tags in the text
            yield Reasoning(whole_characters(thought))
        content = delta.get("content")
        if content is not None and not isinstance(content, str):
            raise Broken("The engine sent content that is not text.")
        if content:
            self.begun = True
            yield from self._spoken(self._whole(content))
        if delta.get("tool_calls"):
            self.begun = True
            yield from self._flush()
            self._tags = None  # what follows a call is spoken
            yield from self._calls.feed(delta["tool_calls"])

    def _spoken(self, text: str) -> Iterator[Event]:
        if self._tags is not None:
            yield from map(self._with_logprobs, self._tags.feed(text))
        elif text:
            yield self._with_logprobs(Text(text))

    def _flush(self) -> Iterator[Event]:
        """What is held back because it may be part of a tag."""
        if self._tags is not None:
            yield from map(self._with_logprobs, self._tags.flush())

    def _with_logprobs(self, event: Text | Reasoning) -> Text | Reasoning:
        if not self._drawn or isinstance(event, Reasoning):
            return event
        drawn, self._drawn = self._drawn, []
        return Text(event.text, tuple(drawn))

    def _whole(self, text: str) -> str:
        """``text`` without half characters: JSON may cut a UTF-16 pair between two frames."""
        text = self._half + text
        self._half = ""
        if not _SURROGATE.search(text):
            return text
        if "\ud800" <= text[-1] <= "\udbff":
            text, self._half = text[:-1], text[-1]
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def whole_characters(text: str) -> str:
    """``text`` without half a UTF-16 pair: JSON can hold one, no page can show it."""
    return _SURROGATE.sub("\ufffd", text)


def _parsed(data: str) -> Mapping[str, Any]:
    try:
        frame = json.loads(data)
    except (ValueError, RecursionError):
        raise Broken("The engine sent a frame that is not JSON.") from None
    if not isinstance(frame, dict):
        raise Broken("The engine sent a frame that is not an object.")
    if not isinstance(frame.get("choices") or [], list):
        raise Broken("The engine sent a frame whose choices are not a list.")
    return frame


def _progress(value: Mapping[str, Any]) -> Progress:
    return Progress(_number(value, "ahead"), _number(value, "computed"), _number(value, "total"))


def _usage(value: Mapping[str, Any] | None) -> Usage | None:
    if value is None:
        return None
    details = value.get("prompt_tokens_details")
    return Usage(
        prompt_tokens=_number(value, "prompt_tokens"),
        completion_tokens=_number(value, "completion_tokens"),
        cached_tokens=_number(details, "cached_tokens") if isinstance(details, dict) else 0,
    )


def _number(value: Mapping[str, Any], name: str) -> int:
    number = value.get(name)
    return number if isinstance(number, int) and number > 0 else 0
