"""The frames of a streamed answer, as bytes. What all frames of one answer share is written once:
this runs once a token and reader."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any

from engine_adapter.bundled.dialect import listing
from engine_adapter.bundled.dialect.fields import Json, clean
from engine_adapter.types import (
    Event,
    Failed,
    Finished,
    Progress,
    Reasoning,
    Text,
    TokenLogprob,
    ToolCallPiece,
    Usage,
)

LEAST_LOGPROB = -9999.0  # what OpenAI writes for a token that cannot be drawn; JSON has no infinity
DONE = b"data: [DONE]\n\n"
_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode


def sse(value: Json) -> bytes:
    """A frame of its own."""
    return _utf8(f"data: {_encode(value)}\n\n")


def encoded(value: Json) -> bytes:
    """A reply's body."""
    return _utf8(_encode(value))


def _utf8(text: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError:
        return clean(text).encode()


class Stream:
    """The frames of one reply with ``choices`` answers. ``over`` after the last frame.

    ``logprobs`` says whether they were asked for, ``usage`` whether a last frame tells it,
    ``progress`` whether its frames are wanted.
    """

    def __init__(
        self,
        head: Json,
        *,
        choices: int = 1,
        logprobs: bool = False,
        usage: bool = False,
        progress: bool = False,
    ) -> None:
        self.over = False
        shared = _encode({**head, "object": "chat.completion.chunk"})[:-1]
        self._open = f"data: {shared}"
        self._texts = [
            f'{self._open},"choices":[{{"index":{index},"delta":{{"content":'
            for index in range(choices)
        ]
        self._closed: list[Usage | None] = []
        self._begun: set[int] = set()
        self._choices = choices
        self._logprobs = logprobs
        self._usage = usage
        self._progress = progress

    def tell(self, index: int, event: Event) -> bytes:
        """What the event of answer number ``index`` adds to the reply; may be nothing."""
        if type(event) is Text and index in self._begun and not self._logprobs:
            text = _encode(event.text)
            return _utf8(f'{self._texts[index]}{text}}},"finish_reason":null}}]}}\n\n')
        match event:
            case Failed(error):
                self.over = True
                return sse(listing.failure(error)[1])
            case Progress(ahead, computed, total):
                if not self._progress or index or self._begun:
                    return b""
                progress = {"ahead": ahead, "computed": computed, "total": total}
                return self._frame([], progress=progress)
            case Text(text, drawn):
                told: Json = {"logprobs": logprobs(drawn)} if self._logprobs else {}
                return self._delta(index, {"content": text}, more=told)
            case Reasoning(text):
                return self._delta(index, {"reasoning_content": text})
            case ToolCallPiece():
                return self._delta(index, {"tool_calls": [call_piece(event)]})
            case Finished():
                return self._end(index, event)

    def _end(self, index: int, event: Finished) -> bytes:
        frames = self._delta(index, {}, reason=reason(event))
        self._closed.append(event.usage)
        if len(self._closed) < self._choices:
            return frames
        self.over = True
        if self._usage and (total := summed(self._closed)) is not None:
            frames += self._frame([], usage=usage(total))
        return frames + DONE

    def _delta(
        self, index: int, delta: Json, *, more: Json | None = None, reason: str | None = None
    ) -> bytes:
        """A frame with the next piece, after the one that says who speaks."""
        choice = {"index": index, "delta": delta, **(more or {}), "finish_reason": reason}
        if index in self._begun:
            return self._frame([choice])
        self._begun.add(index)
        speaker = {"role": "assistant", "content": ""}
        opening = {"index": index, "delta": speaker, "finish_reason": None}
        return self._frame([opening]) + self._frame([choice])

    def _frame(self, choices: list[Json], **more: Any) -> bytes:
        return _utf8(f"{self._open},{_encode({'choices': choices, **more})[1:]}\n\n")


def call_piece(piece: ToolCallPiece) -> Json:
    """One entry of a delta's ``tool_calls``."""
    if piece.name is None:
        return {"index": piece.index, "function": {"arguments": piece.arguments}}
    function = {"name": piece.name, "arguments": piece.arguments}
    return {"index": piece.index, "id": piece.id, "type": "function", "function": function}


def logprobs(drawn: Iterable[TokenLogprob]) -> Json:
    """The ``logprobs`` of a choice."""
    return {
        "content": [
            {
                **_token(one.token, one.logprob),
                "top_logprobs": [_token(token, logprob) for token, logprob in one.top],
            }
            for one in drawn
        ]
    }


def _token(token: bytes, logprob: float) -> Json:
    # A token may be part of a character: the bytes tell all, the text what can be read of it.
    return {
        "token": token.decode("utf-8", "replace"),
        "logprob": max(logprob, LEAST_LOGPROB),
        "bytes": list(token),
    }


def reason(finished: Finished) -> str:
    """Why the answer ended, in the dialect's words."""
    return finished.reason if finished.reason in ("length", "tool_calls") else "stop"


def summed(usages: Sequence[Usage | None]) -> Usage | None:
    """The usage of several answers to one prompt, which counts once. None where one is unknown."""
    known = [usage for usage in usages if usage is not None]
    if not known or len(known) < len(usages):
        return None
    return Usage(
        prompt_tokens=max(usage.prompt_tokens for usage in known),
        completion_tokens=sum(usage.completion_tokens for usage in known),
        # What the other answers found computed, the first of them may have computed just now.
        cached_tokens=min(usage.cached_tokens for usage in known),
    )


def usage(usage: Usage) -> Json:
    """The usage object."""
    return {
        "prompt_tokens": usage.prompt_tokens,
        "completion_tokens": usage.completion_tokens,
        "total_tokens": usage.prompt_tokens + usage.completion_tokens,
        "prompt_tokens_details": {"cached_tokens": usage.cached_tokens},
    }
