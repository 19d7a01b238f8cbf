"""Loads in which people get into each other's way: intruder, turns, flood, cancel, long."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from dataclasses import dataclass

from tests.bench.client import Answer, Call, Json
from tests.bench.crowds import context
from tests.bench.figures import between_tokens, first_token, gaps, percentile, rate
from tests.bench.load import Case, Measured, Needs, Site, whole
from tests.bench.prompts import Seed, body, turn

UNDER_WAY = 8  # frames after which an answer is well begun
TURN_TOKENS = 16  # what a chat template puts around a question and its answer
AFTER_S = 0.3  # between those who came first and those who come after


def question(user: Seed, words: int, tokens: int) -> Json:
    """A request with one turn."""
    return body(user, [turn("user", user.words(words))], tokens=tokens)


def crowd(seed: Seed, count: int, words: int, tokens: int) -> list[Json]:
    """Requests of so many users."""
    return [question(seed.of("user", at), words, tokens) for at in range(count)]


@dataclass(frozen=True)
class Intruder:
    """N are writing when one long prompt arrives: the gaps in their answers while it is read,
    and its own first token."""

    name = "intruder"
    writers: int = 8
    intruder_words: int = 1000
    words: int = 16
    tokens: int = 160
    intruder_tokens: int = 16

    def needs(self) -> Needs:
        longest = context(self.intruder_words, self.intruder_tokens)
        return Needs(self.writers + 1, max(longest, context(self.words, self.tokens)))

    def cases(self) -> Sequence[Case]:
        return [self]

    @property
    def label(self) -> str:
        return f"{self.writers} writing, {self.intruder_words} words arrive"

    async def prepare(self, site: Site, seed: Seed) -> None:
        """Nothing."""

    async def measure(self, site: Site, seed: Seed) -> Measured:
        bodies = crowd(seed, self.writers, self.words, self.tokens)
        writers = await site.ask_all(bodies, enough=UNDER_WAY)
        for writer in writers:
            await writer.begun()
        who = seed.of("intruder")
        intruder = await site.ask(question(who, self.intruder_words, self.intruder_tokens))
        await intruder.begun()
        answers = [*await whole(writers), await intruder.whole()]
        came, written = answers[-1], answers[:-1]
        reading = gaps(written, came.sent, came.sent + came.first)
        notes = []
        if any(answer.end < came.sent + came.first for answer in written):
            notes.append("answers ended before the long prompt was read: more tokens are needed")
        figures = {
            **{f"{name}, while reading": value for name, value in between_tokens(reading).items()},
            "intruder's first token, s": came.first,
            "tokens/s": rate(written),
        }
        return Measured(figures, answers, notes)


@dataclass(frozen=True)
class Turns:
    """A conversation turn by turn while others are always being answered: the first token of
    its last turn against that of its first. The answers are the server's own words."""

    name = "turns"
    turns: int = 10
    conversations: int = 2
    others: int = 6
    system_words: int = 60
    words: int = 40
    tokens: int = 48

    def needs(self) -> Needs:
        words = self.system_words + self.turns * self.words
        answers = self.turns * (self.tokens + TURN_TOKENS)
        return Needs(self.conversations + self.others, context(words, answers))

    def cases(self) -> Sequence[Case]:
        return [self]

    @property
    def label(self) -> str:
        return f"{self.turns} turns, {self.others} others busy"

    async def prepare(self, site: Site, seed: Seed) -> None:
        """Nothing."""

    async def measure(self, site: Site, seed: Seed) -> Measured:
        others = [
            asyncio.create_task(self._always(site, seed.of("other", at)))
            for at in range(self.others)
        ]
        try:
            await asyncio.sleep(AFTER_S)
            talks = await asyncio.gather(
                *(self._talk(site, seed.of("talk", at)) for at in range(self.conversations))
            )
        finally:
            for other in others:
                other.cancel()
            await asyncio.wait(others)
        first = percentile((talk[0].first for talk in talks), 0.5)
        last = percentile((talk[-1].first for talk in talks), 0.5)
        figures = {
            "first token of turn 1, s": first,
            f"first token of turn {self.turns}, s": last,
            f"turn {self.turns} against turn 1": last / first,
            "cached tokens of the last prompt": percentile((t[-1].cached for t in talks), 0.5),
        }
        return Measured(figures, [answer for talk in talks for answer in talk])

    async def _talk(self, site: Site, who: Seed) -> list[Answer]:
        turns = [turn("system", who.of("system").words(self.system_words))]
        answers = []
        for number in range(self.turns):
            turns.append(turn("user", who.of(number).words(self.words)))
            call = await site.ask(body(who, turns, tokens=self.tokens), keep=True)
            answers.append(await call.whole())
            turns.append(turn("assistant", answers[-1].text.strip()))
        return answers

    async def _always(self, site: Site, who: Seed) -> None:
        """Ask again and again until cancelled."""
        number = 0
        while True:
            number += 1
            call = await site.ask(question(who.of(number), self.words, self.tokens))
            try:
                await call.whole()
            finally:
                call.leave()
            if not call.answer.ok:
                await asyncio.sleep(AFTER_S)  # a server that refuses is not to be flooded


@dataclass(frozen=True)
class Flood:
    """N users with one request each, without and with one more who has sent many before them:
    the first token of the N."""

    name = "flood"
    users: int = 7
    requests: int = 20
    slots: int = 8
    words: int = 24
    tokens: int = 64

    def needs(self) -> Needs:
        return Needs(self.slots, context(self.words, self.tokens))

    def cases(self) -> Sequence[Case]:
        return [self]

    @property
    def label(self) -> str:
        return f"{self.users} with one request, one with {self.requests}, {self.slots} slots"

    async def prepare(self, site: Site, seed: Seed) -> None:
        """Nothing."""

    async def measure(self, site: Site, seed: Seed) -> Measured:
        alone = await site.answers(crowd(seed.of("without"), self.users, self.words, self.tokens))
        greedy = seed.of("greedy")
        many = [
            body(greedy, [turn("user", greedy.of(at).words(self.words))], tokens=self.tokens)
            for at in range(self.requests)
        ]
        flood = await site.ask_all(many)
        await asyncio.sleep(AFTER_S)
        beside = await site.answers(crowd(seed.of("with"), self.users, self.words, self.tokens))
        flooded = await whole(flood)
        without, beside_it = first_token(alone), first_token(beside)
        p95 = "first token p95, s"
        figures = {
            f"{p95}, without the {self.requests}": without[p95],
            f"{p95}, with the {self.requests}": beside_it[p95],
            "with against without": beside_it[p95] / without[p95],
            f"{p95}, of the {self.requests}": first_token(flooded)[p95],
        }
        return Measured(figures, [*alone, *beside, *flooded])


@dataclass(frozen=True)
class Cancel:
    """Two are writing in two slots and one waits; one of the two goes away: seconds until the
    one who waits has its first token, against the same question into a free slot."""

    name = "cancel"
    words: int = 8
    tokens: int = 400

    def needs(self) -> Needs:
        return Needs(2, context(self.words, self.tokens))

    def cases(self) -> Sequence[Case]:
        return [self]

    label = "a client leaves, another waits for its slot"

    async def prepare(self, site: Site, seed: Seed) -> None:
        """Nothing."""

    async def measure(self, site: Site, seed: Seed) -> Measured:
        async def ask(name: str, tokens: int) -> Call:
            return await site.ask(question(seed.of(name), self.words, tokens), enough=UNDER_WAY)

        staying = await ask("staying", self.tokens)
        await staying.begun()
        free = await (await ask("into a free slot", UNDER_WAY)).whole()
        leaving = await ask("leaving", self.tokens)
        await leaving.begun()
        waiting = await ask("waiting", UNDER_WAY)
        await asyncio.sleep(AFTER_S)
        early = bool(waiting.answer.frames)
        left_at = time.perf_counter()
        leaving.leave()
        waited = await waiting.whole()
        began = waited.sent + waited.first - left_at
        notes = ["the one who waits did not have to: more than two slots"] if early else []
        if staying.answer.finish:
            notes.append("the answer beside ended too early: more tokens are needed")
        staying.leave()
        figures = {
            "first token after the leave, s": began,
            "first token into a free slot, s": free.first,
            "slot free after, s": began - free.first,
        }
        return Measured(figures, [free, waited], notes)


@dataclass(frozen=True)
class Long:
    """Two answers that together are longer than the context which llama-server shares among all
    by default. A server that promises each its context finishes both."""

    name = "long"
    pool: int = 2048
    words: int = 8

    def needs(self) -> Needs:
        return Needs(2, self.pool, pool=True)

    def cases(self) -> Sequence[Case]:
        return [self]

    @property
    def label(self) -> str:
        return f"two long answers, context {self.pool}"

    async def prepare(self, site: Site, seed: Seed) -> None:
        """Nothing."""

    async def measure(self, site: Site, seed: Seed) -> Measured:
        tokens = self.pool * 3 // 4
        answers = await site.answers(crowd(seed, 2, self.words, tokens))
        figures = {
            "finished, of 2": float(sum(answer.ok for answer in answers)),
            "tokens, of both": float(sum(answer.tokens for answer in answers)),
            "tokens asked, of both": float(2 * tokens),
        }
        return Measured(figures, answers)
