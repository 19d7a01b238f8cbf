"""From turns to tokens: the template's parts may become control tokens, people's text never.

The template sees stand-ins that nobody can guess; what it made is cut at them, and each part is
tokenised by its own rule. So nobody can forge a turn by writing the model's markers.
"""

from __future__ import annotations

import re
import secrets
from typing import Protocol

from engine_adapter.bundled.renderer import Renderer
from engine_adapter.bundled.templates import TemplateRefused
from engine_adapter.types import Turn


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


class Prompter:
    """Writes prompts for one model. The template's bos and eos are the vocabulary's."""

    def __init__(self, renderer: Renderer, bos: str, eos: str) -> None:
        self._renderer = renderer
        self._bos = bos
        self._eos = eos

    async def parts(self, turns: tuple[Turn, ...], *, continue_final: bool) -> list[Part]:
        """The prompt in parts. Raises ``TemplateRefused``.

        Many templates know no system turn. What it says then opens the first turn after it.
        """
        try:
            return await self._render(turns, continue_final)
        except TemplateRefused:
            if len(turns) < 2 or turns[0].role != "system" or turns[1].role != "user":
                raise
            opening = Turn("user", f"{turns[0].content}\n\n{turns[1].content}")
            return await self._render((opening, *turns[2:]), continue_final)

    async def _render(self, turns: tuple[Turn, ...], continue_final: bool) -> list[Part]:
        nonce = secrets.token_hex(8)
        last = len(turns) - 1
        contents = {
            f"kx{nonce}n{index}z": turn.content
            for index, turn in enumerate(turns)
            if turn.content or (continue_final and index == last)
        }
        messages = [
            {
                "role": turn.role,
                "content": name if (name := f"kx{nonce}n{index}z") in contents else "",
            }
            for index, turn in enumerate(turns)
        ]
        text = await self._renderer.render(
            messages=messages,
            add_generation_prompt=not continue_final,
            bos_token=self._bos,
            eos_token=self._eos,
            tools=None,
        )
        if missing := [name for name in contents if name not in text]:
            position = list(contents).index(missing[0]) + 1
            raise TemplateRefused(f"it leaves out message {position}")
        pieces = re.split(f"(kx{nonce}n[0-9]+z)", text)
        if continue_final:
            end = max(index for index, piece in enumerate(pieces) if piece == f"kx{nonce}n{last}z")
            pieces = pieces[: end + 1]
        return [(contents.get(piece, piece), piece not in contents) for piece in pieces if piece]


def to_tokens(parts: list[Part], vocabulary: Vocabulary) -> list[int]:
    """Tokens of the prompt, with exactly one ``bos`` in front where the model wants one."""
    tokens = [token for text, own in parts for token in vocabulary.tokenize(text, markers=own)]
    first = vocabulary.bos
    return tokens if first is None or tokens[:1] == [first] else [first, *tokens]
