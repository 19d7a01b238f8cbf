"""The load beside short bursts of work, such as web processes have: what each does to the other."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

from tests.bench.crowds import context
from tests.bench.figures import of_crowd, percentile
from tests.bench.load import Case, Measured, Needs, Site
from tests.bench.neighbours import bursting
from tests.bench.prompts import Seed, body, turn

QUIET_S = 4.0  # of bursts beside an engine that has nothing to do
SETTLE_S = 0.3  # until the interpreters have started


@dataclass(frozen=True)
class _Beside:
    label: str
    users: int
    pages: int
    words: int
    tokens: int

    async def prepare(self, site: Site, seed: Seed) -> None:
        """Nothing."""

    async def measure(self, site: Site, seed: Seed) -> Measured:
        users = [seed.of("user", at) for at in range(self.users)]
        bodies = [body(u, [turn("user", u.words(self.words))], tokens=self.tokens) for u in users]
        with bursting(self.pages) as took:
            await asyncio.sleep(SETTLE_S)
            answers = await site.answers(bodies)
            if not bodies:
                await asyncio.sleep(QUIET_S)
        figures = {
            "burst p50, ms": 1000 * percentile(took, 0.5),
            "burst p95, ms": 1000 * percentile(took, 0.95),
            "burst p99, ms": 1000 * percentile(took, 0.99),
        }
        return Measured({**figures, **(of_crowd(answers) if answers else {})}, answers)


@dataclass(frozen=True)
class Pages:
    """Processes that compute some 4 ms twenty times a second, beside an engine at rest and one
    that writes for N users: how late the bursts are done, and what they cost the answers."""

    name = "pages"
    users: tuple[int, ...] = (0, 1, 8)
    pages: int = 2
    words: int = 24
    tokens: int = 192

    def needs(self) -> Needs:
        return Needs(max(1, *self.users), max(1536, context(self.words, self.tokens)))

    def cases(self) -> Sequence[Case]:
        return [
            _Beside(f"{n} users, {self.pages} with bursts", n, self.pages, self.words, self.tokens)
            for n in self.users
        ]
