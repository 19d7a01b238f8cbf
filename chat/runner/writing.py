"""One answer in a runner's hands, from its claim to its end."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from uuid import UUID

from chat.domain.generations import End
from chat.models import Generation, LanguageModel
from engine_adapter.types import Usage

log = logging.getLogger(__name__)


@dataclass(eq=False)
class Writing:
    """``pending`` and ``thoughts`` are written but not stored; ``heard_at`` (monotonic) is when the
    engine, while it is asked, last gave a sign of life; ``ahead`` is the place in its line, 0 for
    none; ``thinks_since`` (monotonic) is when it began to think, ``reasoned_ms`` for how long.

    ``members`` can be asked for its model; ``asked`` is the one that was, where they are several.
    ``whereabouts`` are the conversation's and the answer's id as news name them, ``name`` the
    run's.
    """

    generation: Generation
    seq: int = 0
    pending: list[str] = field(default_factory=list)
    thoughts: list[str] = field(default_factory=list)
    thinks_since: float | None = None
    reasoned_ms: int | None = None
    has_thought: bool = False
    has_text: bool = False
    begun: bool = False
    first_text_at: datetime | None = None
    end: End | None = None
    stopping: bool = False
    cut_off: str = ""
    heard_at: float | None = None
    ahead: int = 0
    members: Sequence[LanguageModel] = ()
    asked: LanguageModel | None = None
    task: asyncio.Task[None] | None = None

    def __post_init__(self) -> None:
        """What every tick tells is put together once."""
        message = self.generation.message
        self.whereabouts = str(message.conversation_id), str(message.pk)
        self.name = str(self.generation.pk)

    @property
    def id(self) -> UUID:
        """The generation's id."""
        return self.generation.pk

    @property
    def unstored(self) -> int:
        """How many pieces wait to be stored."""
        return len(self.pending) + len(self.thoughts)

    @property
    def language_model(self) -> LanguageModel:
        """The model that writes. Raises ``ValueError`` for a message that is no answer."""
        model = self.generation.message.language_model
        if model is None:
            raise ValueError("an answer to be written has a model")
        return model

    @property
    def continues(self) -> bool:
        """Whether an engine could go on with what is written."""
        return any(row.continues for row in self.members or [self.language_model])

    @property
    def asks_at(self) -> LanguageModel:
        """The row that is asked, or was last."""
        return self.asked or self.language_model

    @property
    def served_by(self) -> UUID | None:
        """Who wrote it, where that was not the one that people see."""
        return self.asked.pk if self.asked and self.asked.pk != self.language_model.pk else None

    def asks(self, tag: str) -> None:
        """Of several it is now this one's turn, by its id."""
        self.asked = next((row for row in self.members if str(row.pk) == tag), None)

    def stop(self) -> None:
        """The person does not want more of it."""
        if not self.stopping and self.task:
            self.stopping = True
            self.task.cancel()

    def cut(self, reason: str) -> None:
        """End it from outside, for ``reason``."""
        if not (self.cut_off or self.stopping or self.end) and self.task:
            self.cut_off = reason
            self.task.cancel()

    def ended(
        self, state: str, reason: str = "", *, usage: Usage | None = None,
        facts: Mapping[str, int] | None = None,
    ) -> End:  # fmt: skip
        """How it ended."""
        version = self.asks_at.runs_id if self.has_text else None
        at, by = self.first_text_at, self.served_by
        return End(state, reason, dict(facts or {}), usage, at, version, served_by=by)

    def failed(self, reason: str, facts: Mapping[str, int] | None = None) -> End:
        """It ended out of order: a text stays and is interrupted."""
        states = Generation.State
        state = states.INTERRUPTED if self.has_text else states.FAILED
        log.warning("generation %s %s: %s", self.id, state, reason)
        return self.ended(state, reason, facts=facts)


class Hands(dict[UUID, Writing]):
    """All answers of a runner, by their run. ``claimable`` is set when work or room came."""

    def __init__(self) -> None:
        super().__init__()
        self.claimable = asyncio.Event()

    def close(self, writing: Writing) -> None:
        """Its end is stored."""
        if self.get(writing.id) is writing:
            del self[writing.id]
        self.claimable.set()

    def let_go(self, writing: Writing) -> None:
        """It is somebody else's by now, or nobody's: not a word more of it."""
        if self.get(writing.id) is writing:
            self.close(writing)
            if writing.task:
                log.info("generation %s is no longer ours", writing.id)
                writing.task.cancel()
