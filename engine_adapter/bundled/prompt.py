"""From turns and tools to tokens: the template's parts may become control tokens, people's never.

The template sees stand-ins that nobody can guess; what it made is cut at them, and each part is
tokenised by its own rule. So nobody can forge a turn by writing the model's markers.
"""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import dataclass, replace
from typing import Any, NoReturn, Protocol

from engine_adapter.bundled import form
from engine_adapter.bundled.renderer import Renderer
from engine_adapter.bundled.runs import cut_runs
from engine_adapter.bundled.standins import Piece, StandIns
from engine_adapter.bundled.templates import TemplateRefused
from engine_adapter.types import Request, Tool, Turn


class Vocabulary(Protocol):
    """Text to tokens, by the model's rules."""

    @property
    def bos(self) -> int | None:
        """The token every prompt begins with, None where there is none."""
        ...

    def tokenize(self, text: str, *, markers: bool) -> list[int]:
        """Tokens of the text; control tokens only with ``markers``."""
        ...

    def marker(self, kind: str) -> str:
        """Text of the ``bos`` or ``eos`` token."""
        ...


Part = tuple[str, bool]  # text, and whether it is the template's own


@dataclass(frozen=True, slots=True)
class Prompt:
    """A prompt in parts. The first ``public_parts`` are the request's public turns and the
    template's words around them, the same for everybody. ``thinking``: it ends inside the
    reasoning."""

    parts: tuple[Part, ...]
    public_parts: int = 0
    thinking: bool = False


class Prompter:
    """Writes prompts for one model. The template's bos and eos are the vocabulary's.

    ``form`` is how the model will write, as its template tells.
    """

    def __init__(self, renderer: Renderer, bos: str, eos: str) -> None:
        self._renderer = renderer
        self._bos = bos
        self._eos = eos
        self.form = form.of(renderer.source)
        source = renderer.source
        self._knows_tools = re.search(r"\btools\b", source) is not None
        self._knows_calls = "tool_calls" in source
        self._short_ids = re.search(r"length\s*!=\s*9\b", source) is not None  # Mistral's

    async def prompt_for(self, request: Request) -> Prompt:
        """The request's prompt. Raises ``TemplateRefused``.

        Many templates know no system turn. What it says then opens the first turn after it.
        """
        self._check(request)
        turns, folds = request.turns, False
        try:
            pieces = await self._render(request, folds=folds)
        except TemplateRefused:
            if len(turns) < 2 or turns[0].role != "system" or turns[1].role != "user":
                raise
            folds = True
            pieces = await self._render(request, folds=folds)
        # What the template says before anybody's text is nobody's.
        public = max(_public(pieces, request.public_turns), int(_opens_alike(request, pieces)))
        if public and _tools(request) and not await self._same(request, pieces[:public], folds):
            public = 0
        last, tags = pieces[-1] if pieces else Piece("", own=True), self.form.reasoning
        return Prompt(
            tuple((piece.text, piece.own) for piece in pieces),
            public,
            bool(tags and last.own and last.text.rstrip().endswith(tags.open)),
        )

    def _check(self, request: Request) -> None:
        if _tools(request) and not self._knows_tools:
            raise TemplateRefused("it knows no tools")
        if any(turn.tool_calls for turn in request.turns) and not self._knows_calls:
            raise TemplateRefused("it knows no tool calls")

    async def _same(self, request: Request, public: list[Piece], folds: bool) -> bool:
        """Whether the public pieces say nothing of the request's tools, which are not public."""
        try:
            plain = await self._render(replace(request, tools=()), folds=folds)
        except TemplateRefused:
            return False
        return plain[: len(public)] == public

    async def _render(self, request: Request, *, folds: bool) -> list[Piece]:
        stand, turns = StandIns(), request.turns
        final = len(turns) - 1 if request.continue_final else None
        said = [
            stand.content(turn.content, index, quotable=turn.role == "tool")
            if turn.content or index == final
            else ""
            for index, turn in enumerate(turns)
        ]
        contents = [(index, name) for index, name in enumerate(said) if name]
        if folds:
            said[1] = "\n\n".join(name for name in said[:2] if name)
        tools = [_tool(tool, stand) for tool in _tools(request)]
        text = await self._renderer.render(
            messages=self._messages(turns, said, stand)[folds:],
            add_generation_prompt=final is None,
            bos_token=self._bos,
            eos_token=self._eos,
            tools=tools or None,
        )
        if missing := [index for index, name in contents if name not in text]:
            raise TemplateRefused(f"it leaves out message {missing[0] + 1}")
        if any(tool["function"]["name"] not in text for tool in tools):
            raise TemplateRefused("it leaves out tools")
        pieces = stand.cut(text)
        if final is not None:
            end = max(index for index, piece in enumerate(pieces) if piece.turn == final)
            pieces = pieces[: end + 1]
        return [piece for piece in pieces if piece.text]

    def _messages(
        self, turns: tuple[Turn, ...], said: list[str], stand: StandIns
    ) -> list[dict[str, Any]]:
        """The turns as templates for Hugging Face transformers expect them."""
        names: dict[str | None, str] = {}
        messages = []
        for turn, content in zip(turns, said, strict=True):
            message: dict[str, Any] = {"role": turn.role, "content": content}
            if turn.tool_calls:
                message["tool_calls"] = []
            for call in turn.tool_calls:
                names[call.id] = stand.leaf(call.name)
                arguments = _object(call.arguments, f"arguments of a call to {call.name}", stand)
                function = {"name": names[call.id], "arguments": arguments}
                id_ = self._id(call.id, stand)
                message["tool_calls"].append({"id": id_, "type": "function", "function": function})
            if turn.tool_call_id is not None:
                message["tool_call_id"] = self._id(turn.tool_call_id, stand)
                if turn.tool_call_id in names:
                    message["name"] = names[turn.tool_call_id]
            messages.append(message)
        return messages

    def _id(self, id_: str, stand: StandIns) -> str:
        if self._short_ids:
            return hashlib.sha256(id_.encode("utf-8", "replace")).hexdigest()[:9]
        leaf: str = stand.leaf(id_)
        return leaf


def _tools(request: Request) -> tuple[Tool, ...]:
    return () if request.tool_choice == "none" else request.tools


def _tool(tool: Tool, stand: StandIns) -> dict[str, Any]:
    parameters = _object(tool.parameters, f"parameters of the tool {tool.name}", stand)
    function = {
        "name": stand.leaf(tool.name),
        "description": stand.leaf(tool.description) if tool.description else "",
        "parameters": {"type": "object", "properties": {}, **parameters},
    }
    return {"type": "function", "function": function}


def _object(text: str, what: str, stand: StandIns) -> dict[str, Any]:
    try:
        value = json.loads(text, parse_constant=_no_number)
        if isinstance(value, dict):
            found: dict[str, Any] = stand.leaf(value)
            return found
    except RecursionError:
        raise TemplateRefused(f"the {what} are nested too deeply") from None
    except ValueError:
        pass
    raise TemplateRefused(f"the {what} are no JSON object")


def _no_number(name: str) -> NoReturn:
    raise ValueError(name)


def _public(pieces: list[Piece], turns: int) -> int:
    """How many pieces there are up to the end of the last of the first ``turns`` turns, without
    anything of anybody's between them."""
    end = 0
    for count, piece in enumerate(pieces, 1):
        if piece.own:
            continue
        if piece.turn is None or piece.turn >= turns:
            break
        end = count
    return end


def _opens_alike(request: Request, pieces: list[Piece]) -> bool:
    called = _tools(request) or request.turns[0].tool_calls
    return bool(pieces) and pieces[0].own and not called


def tokens_of(prompt: Prompt, vocabulary: Vocabulary) -> tuple[list[int], int]:
    """Tokens of the prompt, with exactly one ``bos`` in front where the model wants one, and how
    many of them are public. The public ones are the same whatever follows them."""
    public, rest = prompt.parts[: prompt.public_parts], prompt.parts[prompt.public_parts :]
    tokens = _tokenize(public, vocabulary)
    shared = len(tokens)
    tokens += _tokenize(rest, vocabulary)
    first = vocabulary.bos
    if first is not None and tokens[:1] != [first]:
        tokens.insert(0, first)
        shared += bool(shared)
    return tokens, shared


def _tokenize(parts: tuple[Part, ...], vocabulary: Vocabulary) -> list[int]:
    return [
        token
        for text, own in parts
        for piece in cut_runs(text)
        for token in vocabulary.tokenize(piece, markers=own)
    ]
