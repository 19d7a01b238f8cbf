"""Virtual people who ask an engine at once, and what each of them sees of it.

Knows no row: it is given an engine and the name of a model.
"""

from __future__ import annotations

import asyncio
import contextlib
import random
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from engine_adapter.engine import Engine
from engine_adapter.types import Failed, Finished, Request, Sampling, Text, Turn

PEOPLE: Final = (1, 2, 4, 8, 16, 32, 50)
QUESTIONS: Final = 2  # each, one after the other: who comes first alone says little
TOKENS: Final = 64
WORDS: Final = 60
_BACKGROUND: Final = 10  # people who ask meanwhile go first
_DEADLINE_S: Final = 300.0
_SYLLABLES: Final = ("ka", "lo", "mi", "ru", "sen", "ta", "vo", "yel", "zi", "dor", "pek", "na")


@dataclass(frozen=True, slots=True)
class Point:
    """``users`` people at once. Rates are in tokens a second, times in seconds; of times there is
    None where no answer came."""

    users: int
    answers: int
    failed: int
    tokens_per_s: float
    first_p50_s: float | None
    first_p95_s: float | None
    token_p50_s: float | None
    token_p95_s: float | None

    @property
    def tokens_per_s_each(self) -> float:
        """What one person gets, on average over all their waiting."""
        return self.tokens_per_s / self.users


@dataclass(frozen=True, slots=True)
class _Answer:
    tokens: int
    first_s: float
    token_s: float | None


async def measure(
    engine: Engine, model: str, users: int, *, salt: str, sha256: str | None = None
) -> Point:
    """So many people at once, each with ``QUESTIONS`` questions nobody has asked before. ``sha256``
    is what the model's file must have."""
    began = time.monotonic()
    people = [_person(engine, model, sha256, f"{salt} {users} {n}") for n in range(users)]
    said = [each for one in await asyncio.gather(*people) for each in one]
    lasted = time.monotonic() - began
    answers = [each for each in said if each is not None]
    firsts = [each.first_s for each in answers]
    gaps = [each.token_s for each in answers if each.token_s is not None]
    return Point(
        users,
        len(answers),
        len(said) - len(answers),
        sum(each.tokens for each in answers) / lasted,
        *(_share(firsts, share) for share in (0.5, 0.95)),
        *(_share(gaps, share) for share in (0.5, 0.95)),
    )


async def _person(
    engine: Engine, model: str, sha256: str | None, name: str
) -> list[_Answer | None]:
    asked = [_request(model, sha256, f"{name} {n}") for n in range(QUESTIONS)]
    return [await _ask(engine, request) for request in asked]


def _request(model: str, sha256: str | None, name: str) -> Request:
    """A question of its own: nothing of it is found in a prefix cache."""
    chance = random.Random(name)  # noqa: S311 - words, no secret
    words = (  # as long as words are, in no language
        "".join(chance.choices(_SYLLABLES, k=chance.randint(1, 3))) for _ in range(WORDS)
    )
    return Request(
        model=model,
        model_sha256=sha256,
        turns=(Turn("user", f"Write a long story with these words: {' '.join(words)}"),),
        sampling=Sampling(temperature=0.8, max_tokens=TOKENS, ignore_eos=True),
        priority=_BACKGROUND,
        cache_salt=name,
        user=name,
        deadline_s=_DEADLINE_S,
    )


async def _ask(engine: Engine, request: Request) -> _Answer | None:
    """None where no answer came to its end."""
    asked = time.monotonic()
    first = 0.0
    pieces = 0
    async with contextlib.aclosing(engine.stream(request)) as stream:
        async for event in stream:
            if isinstance(event, Text):
                first = first or time.monotonic() - asked
                pieces += 1
            if isinstance(event, Failed):
                return None
            if isinstance(event, Finished):
                tokens = event.usage.completion_tokens if event.usage else pieces
                rest = time.monotonic() - asked - first
                return _Answer(tokens, first, rest / (tokens - 1) if tokens > 1 else None)
    return None


def _share(values: Sequence[float], share: float) -> float | None:
    """The value that this share of all does not exceed."""
    return sorted(values)[min(len(values) - 1, int(share * len(values)))] if values else None
