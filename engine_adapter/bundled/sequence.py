"""One answer on its way through the engine. Knows no slots' books, no llama.cpp and no client."""

from __future__ import annotations

from dataclasses import dataclass, field

from engine_adapter.bundled.text import TextStream
from engine_adapter.types import Sampling, TokenLogprob, Usage


@dataclass(frozen=True, slots=True)
class Drawn:
    """A token, and how likely it was where that was asked for."""

    token: int
    logprob: TokenLogprob | None = None


@dataclass(slots=True, eq=False)
class Sequence:
    """Known tokens, of which the first ``computed`` are in the slot's memory.

    ``known`` begins as the prompt and grows by each token drawn; at most ``room`` are drawn.
    A sequence that was set back has computed nothing again and keeps everything it knows.
    """

    id: int
    known: list[int]
    room: int
    sampling: Sampling = field(default_factory=Sampling)
    priority: int = 0
    text: TextStream = field(default_factory=TextStream)
    arrival: int = 0
    computed: int = 0
    slot: int | None = None
    cancelled: bool = False
    prompt_tokens: int = field(init=False)

    def __post_init__(self) -> None:
        if not self.known or self.room < 1:
            raise ValueError("a sequence needs a prompt and room for one token")
        self.prompt_tokens = len(self.known)

    @property
    def gap(self) -> int:
        """Tokens known but not computed: 1 for a writer, more for a prompt."""
        return len(self.known) - self.computed

    @property
    def written(self) -> int:
        """Tokens drawn so far."""
        return len(self.known) - self.prompt_tokens

    @property
    def rank(self) -> tuple[int, int]:
        """Smaller goes first: priority, then arrival."""
        return self.priority, self.arrival

    @property
    def usage(self) -> Usage:
        """Tokens read and written so far."""
        return Usage(prompt_tokens=self.prompt_tokens, completion_tokens=self.written)
