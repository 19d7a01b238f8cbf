"""Tool calls and log probabilities inside a streamed choice: their habits, made one form. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from engine_adapter.errors import Broken
from engine_adapter.types import TokenLogprob, ToolCallPiece

_SURROGATE = re.compile("[\ud800-\udfff]")


class Calls:
    """The calls of one answer. Some engines number none of them, repeat names, or send a call's
    arguments as an object; the first piece of each call carries name and id, and no other."""

    def __init__(self) -> None:
        self._ids: list[str] = []
        self._numbers: dict[int, int] = {}  # the engine's number of a call, and ours

    @property
    def any(self) -> bool:
        """Whether there was one."""
        return bool(self._ids)

    def feed(self, pieces: object) -> Iterator[ToolCallPiece]:
        """The pieces of one delta. Raises ``Broken`` for what is none."""
        if not isinstance(pieces, list):
            raise Broken("The engine sent tool calls that are not a list.")
        for piece in pieces:
            function = piece.get("function") if isinstance(piece, dict) else None
            if not isinstance(function, dict):
                raise Broken("The engine sent a tool call that is none.")
            yield from self._piece(piece, function)

    def _piece(self, piece: dict[str, Any], function: dict[str, Any]) -> Iterator[ToolCallPiece]:
        arguments = _arguments(function.get("arguments"))
        id_ = piece["id"] if isinstance(piece.get("id"), str) else ""
        number = piece.get("index")
        if not isinstance(number, int):
            begins = not self._ids or (id_ and id_ not in self._ids)
            number = -1 - len(self._ids) if begins else -len(self._ids)
        if number in self._numbers:
            if arguments:
                yield ToolCallPiece(self._numbers[number], arguments)
            return
        name = function.get("name")
        if not isinstance(name, str) or not name:
            raise Broken("The engine sent a tool call without a name.")
        index = self._numbers[number] = len(self._ids)
        self._ids.append(id_ or f"call_{index}")
        yield ToolCallPiece(index, arguments, _characters(self._ids[-1]), _characters(name))


def _arguments(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, dict):
        return json.dumps(value)
    if not isinstance(value, str):
        raise Broken("The engine sent a tool call's arguments that are not text.")
    return _characters(value)


def _characters(text: str) -> str:
    return _SURROGATE.sub("\ufffd", text)


def logprobs(value: object) -> list[TokenLogprob]:
    """The tokens of a choice's ``logprobs`` that can be read."""
    content = value.get("content") if isinstance(value, dict) else None
    found = []
    for one in content if isinstance(content, list) else ():
        if (token := _token(one)) is not None:
            top = one.get("top_logprobs")
            others = [_token(other) for other in top] if isinstance(top, list) else []
            found.append(TokenLogprob(*token, tuple(other for other in others if other)))
    return found


def _token(value: object) -> tuple[bytes, float] | None:
    if not isinstance(value, dict) or not isinstance(value.get("token"), str):
        return None
    number = value.get("logprob")
    if not isinstance(number, int | float) or isinstance(number, bool):
        return None
    raw = value.get("bytes")
    if isinstance(raw, list) and all(isinstance(byte, int) and 0 <= byte < 256 for byte in raw):
        return bytes(raw), float(number)
    return _characters(value["token"]).encode(), float(number)
