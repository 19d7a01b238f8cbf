"""What was said in one temporary chat, and how much more there is room for. Memory only."""

from __future__ import annotations

import secrets
from dataclasses import dataclass, field
from typing import Final

from django.conf import settings

from chat.domain import prompts, versions
from chat.models import LanguageModel
from engine_adapter.types import Request, Role, Turn

# More than models of 128,000 tokens read: what a process holds for one page ends somewhere.
MOST_CHARS: Final = 500_000
MOST_QUESTIONS: Final = 200


@dataclass(eq=False)
class Talk:
    """The turns so far. ``salt`` is its own cache domain: no other request shares its prefixes.

    ``is_broken``: the newest answer did not come to its end.
    """

    salt: str = field(default_factory=lambda: secrets.token_hex(32))
    questions: int = 0
    is_broken: bool = False
    _turns: list[Turn] = field(default_factory=list)

    def has_room(self, text: str) -> bool:
        """Whether ``text`` can still be asked."""
        said = sum(len(turn.content) for turn in self._turns)
        return self.questions < MOST_QUESTIONS and said + len(text) <= MOST_CHARS

    def ask(self, text: str) -> None:
        """The person said ``text``."""
        self.questions += 1
        self._say("user", text)

    def answer(self, text: str, *, is_broken: bool) -> None:
        """The model said ``text``, which is nothing where it never began."""
        self.is_broken = is_broken
        if text:
            self._say("assistant", text)

    def take_back(self) -> None:
        """The newest answer is to be written anew."""
        self.is_broken = False
        if self._turns and self._turns[-1].role == "assistant":
            self._turns.pop()

    def request(self, model: LanguageModel, person: str) -> Request:
        """What ``model`` is asked. It counts against the share of ``person`` like any other.

        Raises ``rights.Held``.
        """
        runs = versions.running(model)
        opening = prompts.opening(model)
        return Request(
            model=runs.name,
            model_sha256=runs.sha256,
            turns=(*opening, *self._turns),
            sampling=prompts.sampling(model, settings.ANSWER_MAX_TOKENS),
            cache_salt=self.salt,
            public_turns=len(opening),
            user=prompts.share(person),
            deadline_s=settings.ANSWER_MAX_SECONDS,
        )

    def _say(self, role: Role, text: str) -> None:
        """One turn a speaker: many templates refuse two questions in a row."""
        if self._turns and self._turns[-1].role == role:
            text = f"{self._turns.pop().content}\n\n{text}"
        self._turns.append(Turn(role, text))
