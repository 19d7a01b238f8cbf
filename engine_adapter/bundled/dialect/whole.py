"""The reply that is not streamed: what the events of its answers add up to."""

from __future__ import annotations

from engine_adapter.bundled.dialect import told
from engine_adapter.bundled.dialect.fields import Json
from engine_adapter.types import (
    Event,
    Finished,
    Reasoning,
    Text,
    TokenLogprob,
    ToolCallPiece,
)


class _Choice:
    """One answer, gathered."""

    def __init__(self) -> None:
        self.finished: Finished | None = None
        self._text: list[str] = []
        self._reasoning: list[str] = []
        self._drawn: list[TokenLogprob] = []
        self._calls: dict[int, list[ToolCallPiece]] = {}

    def take(self, event: Event) -> None:
        match event:
            case Text(text, drawn):
                self._text.append(text)
                self._drawn += drawn
            case Reasoning(text):
                self._reasoning.append(text)
            case ToolCallPiece():
                self._calls.setdefault(event.index, []).append(event)
            case Finished():
                self.finished = event

    def as_json(self, index: int, finished: Finished, *, logprobs: bool) -> Json:
        text = "".join(self._text)
        message: Json = {"role": "assistant", "content": text}
        if self._reasoning:
            message["reasoning_content"] = "".join(self._reasoning)
        if self._calls:
            message["content"] = text or None
            message["tool_calls"] = [_call(self._calls[nth]) for nth in sorted(self._calls)]
        choice: Json = {"index": index, "message": message}
        if logprobs:
            choice["logprobs"] = told.logprobs(self._drawn)
        return {**choice, "finish_reason": told.reason(finished)}


class Whole:
    """Takes every event of a reply with ``choices`` answers, until ``over``."""

    def __init__(self, choices: int = 1, *, logprobs: bool = False) -> None:
        self._choices = [_Choice() for _ in range(choices)]
        self._logprobs = logprobs

    def take(self, index: int, event: Event) -> None:
        """The next event of answer number ``index``; one that failed is not for here."""
        self._choices[index].take(event)

    @property
    def over(self) -> bool:
        """Whether every answer has ended."""
        return all(choice.finished is not None for choice in self._choices)

    def as_json(self, head: Json) -> Json:
        """The reply, of the answers that have ended."""
        ended = [(n, c, c.finished) for n, c in enumerate(self._choices) if c.finished is not None]
        reply: Json = {
            **head,
            "object": "chat.completion",
            "choices": [c.as_json(n, end, logprobs=self._logprobs) for n, c, end in ended],
        }
        total = told.summed([end.usage for _, _, end in ended])
        return reply if total is None else {**reply, "usage": told.usage(total)}


def _call(pieces: list[ToolCallPiece]) -> Json:
    first = pieces[0]
    arguments = "".join(piece.arguments for piece in pieces)
    function = {"name": first.name, "arguments": arguments}
    return {"id": first.id, "type": "function", "function": function}
