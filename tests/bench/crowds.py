"""Loads of many people who ask at the same moment: short, busy, shared, decode, deep."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tests.bench.client import Json
from tests.bench.figures import of_crowd, steady
from tests.bench.load import Case, Measured, Needs, Site, whole
from tests.bench.neighbours import spinning
from tests.bench.prompts import Seed, body, turn

WORD_TOKENS = 1.09  # of the words of prompts.py, measured with SmolLM2's vocabulary
MOST_WORD_TOKENS = 1.5  # in other vocabularies
TEMPLATE_TOKENS = 64  # what a chat template puts around
LEAST_CONTEXT = 512


def context(words: int, tokens: int) -> int:
    """A context that holds a prompt of so many words and its answer."""
    return max(LEAST_CONTEXT, int(words * MOST_WORD_TOKENS) + tokens + TEMPLATE_TOKENS)


@dataclass(frozen=True)
class _Asking:
    """So many users, each with a question of its own."""

    label: str
    users: int
    words: int
    tokens: int
    neighbours: int = 0

    async def prepare(self, site: Site, seed: Seed) -> None:
        """Nothing."""

    async def measure(self, site: Site, seed: Seed) -> Measured:
        users = [seed.of("user", at) for at in range(self.users)]
        bodies = [body(u, [turn("user", u.words(self.words))], tokens=self.tokens) for u in users]
        with spinning(self.neighbours):
            answers = await site.answers(bodies)
        return Measured(of_crowd(answers), answers)


@dataclass(frozen=True)
class Short:
    """N users with short prompts, all at once."""

    name = "short"
    users: tuple[int, ...] = (1, 8, 32)
    words: int = 24
    tokens: int = 64

    def needs(self) -> Needs:
        return Needs(max(self.users), max(1536, context(self.words, self.tokens)))

    def cases(self) -> Sequence[Case]:
        return [_Asking(f"{n} at once", n, self.words, self.tokens) for n in self.users]


@dataclass(frozen=True)
class Busy:
    """The same beside processes that never rest."""

    name = "busy"
    users: int = 8
    neighbours: int = 2
    words: int = 24
    tokens: int = 64

    def needs(self) -> Needs:
        return Needs(self.users, max(1536, context(self.words, self.tokens)))

    def cases(self) -> Sequence[Case]:
        label = f"{self.users} users, {self.neighbours} busy processes beside"
        return [
            _Asking(f"{self.users} users, nothing beside", self.users, self.words, self.tokens),
            _Asking(label, self.users, self.words, self.tokens, self.neighbours),
        ]


@dataclass(frozen=True)
class _Sharing:
    """Users behind one system prompt, which is new in each run (cold) or was read before."""

    label: str
    users: int
    system_words: int
    words: int
    tokens: int
    warm: bool

    async def prepare(self, site: Site, seed: Seed) -> None:
        """Nothing: the prompt is another in each run."""

    async def measure(self, site: Site, seed: Seed) -> Measured:
        system = turn("system", seed.of("system").words(self.system_words))

        def request(user: Seed, tokens: int) -> Json:
            question = turn("user", user.words(self.words))
            return body(user, [system, question], tokens=tokens, public=1)

        if self.warm:
            await site.answers([request(seed.of("somebody before"), 1)])
        bodies = [request(seed.of("user", at), self.tokens) for at in range(self.users)]
        answers = await site.answers(bodies)
        cached = sum(answer.cached for answer in answers) / len(answers)
        return Measured({**of_crowd(answers), "cached tokens a prompt": cached}, answers)


@dataclass(frozen=True)
class Shared:
    """N users behind the organisation's system prompt, which no server has read before; and
    once more where it has."""

    name = "shared"
    users: tuple[int, ...] = (8, 32)
    system_words: int = 300
    words: int = 16
    tokens: int = 64

    def needs(self) -> Needs:
        words = self.system_words + self.words
        return Needs(max(self.users), max(1536, context(words, self.tokens)))

    def cases(self) -> Sequence[Case]:
        return [
            _Sharing(f"{n} users, {how}", n, self.system_words, self.words, self.tokens, warm)
            for n in self.users
            for how, warm in (("cold", False), ("warm", True))
        ]


@dataclass(frozen=True)
class Decoding:
    """Sequences that only write. ``depth`` in words is read before the runs begin, by the same
    users, so that each run reads the few words of its own question only."""

    label: str
    sequences: int
    depth: int
    words: int
    tokens: int

    async def prepare(self, site: Site, seed: Seed) -> None:
        """Let each user's conversation be read once."""
        if self.depth:
            for at in range(self.sequences):
                await site.answers([self._request(seed, at, Seed("opening"), 1)])

    async def measure(self, site: Site, seed: Seed) -> Measured:
        bodies = [self._request(seed, at, seed, self.tokens) for at in range(self.sequences)]
        answers = await whole(await site.ask_all(bodies))
        notes = []
        if (speed := steady(answers)) != speed:
            notes.append("never were all writing at once: more tokens an answer are needed")
        figures = {"steady tokens/s": speed, **of_crowd(answers)}
        if self.depth:
            cached = sum(answer.cached for answer in answers) / len(answers)
            figures["cached tokens a prompt"] = cached
            if 0 < cached < self.depth / 2:
                notes.append("conversations had to be read again: its cache is too small")
        return Measured(figures, answers, notes)

    def _request(self, seed: Seed, at: int, question: Seed, tokens: int) -> Json:
        if not self.depth:
            user = seed.of("user", at)
            return body(user, [turn("user", user.words(self.words))], tokens=tokens)
        user = seed.lasting.of("user", at)
        turns = [
            turn("user", user.words(self.depth)),
            turn("assistant", "I have read it."),
            turn("user", question.of(at).words(self.words)),
        ]
        return body(user, turns, tokens=tokens)


@dataclass(frozen=True)
class Decode:
    """N sequences that only write: tokens a second from the moment when all have begun to the
    first end."""

    name = "decode"
    sequences: tuple[int, ...] = (1, 8, 32)
    words: int = 8
    tokens: int = 128

    def needs(self) -> Needs:
        return Needs(max(self.sequences), context(self.words, self.tokens))

    def cases(self) -> Sequence[Decoding]:
        return [Decoding(f"{n} sequences", n, 0, self.words, self.tokens) for n in self.sequences]


@dataclass(frozen=True)
class Deep:
    """N users far into a conversation that the server knows, each with a new short question."""

    name = "deep"
    users: int = 16
    depth: int = 2000  # tokens
    words: int = 8
    tokens: int = 64

    def needs(self) -> Needs:
        return Needs(self.users, self.depth + context(self.words, self.tokens))

    def cases(self) -> Sequence[Decoding]:
        label = f"{self.users} users, {self.depth} tokens in"
        words = int(self.depth / WORD_TOKENS)
        return [Decoding(label, self.users, words, self.words, self.tokens)]
