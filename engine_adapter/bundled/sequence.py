"""One answer on its way through the engine. Knows no slots' books, no llama.cpp and no client."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol

from engine_adapter.bundled.transcript import Transcript
from engine_adapter.types import Sampling, TokenLogprob, Usage


@dataclass(frozen=True, slots=True)
class Drawn:
    """A token, and how likely it was where that was asked for."""

    token: int
    logprob: TokenLogprob | None = None


class Drawing(Protocol):
    """What draws the tokens of one sequence; it belongs to the device."""

    def close(self) -> None:
        """Free what it holds."""
        ...


@dataclass(slots=True, eq=False)
class Sequence:
    """Known tokens, of which the first ``computed`` are in the slot's memory.

    ``known`` begins as the prompt and grows by each token drawn; at most ``room`` are drawn.
    A sequence that was set aside has computed nothing and keeps everything it knows.

    ``user`` is whose share it counts against. Cached states are shared inside ``domain``; the
    first ``public`` tokens may come from and go to everybody. ``deadline`` is a monotonic time.
    ``cached`` prompt tokens were taken from a state when it first got a slot. At ``marks`` its
    state is wanted by others, so that a portion ends there; ``shared`` remembers how many tokens
    it has in common with other sequences. ``served`` is the last step it took part in.
    """

    id: int
    known: list[int]
    room: int
    sampling: Sampling = field(default_factory=Sampling)
    priority: int = 0
    user: str = ""
    domain: str = ""
    public: int = 0
    deadline: float = float("inf")
    transcript: Transcript = field(default_factory=Transcript)
    arrival: int = 0
    arrived_at: float = 0.0
    computed: int = 0
    slot: int | None = None
    cancelled: bool = False
    cached: int | None = None
    served: int = 0
    marks: list[int] = field(default_factory=list)
    shared: dict[int, int] = field(default_factory=dict)
    drawing: Drawing | None = None
    logprobs: list[TokenLogprob] = field(default_factory=list)
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
    def usage(self) -> Usage:
        """Tokens read, written and not computed again."""
        return Usage(
            prompt_tokens=self.prompt_tokens,
            completion_tokens=self.written,
            cached_tokens=self.cached or 0,
        )
