"""Prompts made from a seed: the same for every server, shared with nobody by accident."""

from __future__ import annotations

import hashlib
import random

from tests.bench.client import Json

# Common words, so that a model's vocabulary has most of them as one token.
COMMON = (
    "the of and to in a is that for it as was with be by on not he his but at are this have from "
    "or had an they which one you were her all she there would their we him been has when who "
    "will more no if out so said what up its about into than them can only other new some could "
    "time these two may then do first any my now such like our over man me even most made after "
    "also did many before must through back years where much your way well down should because "
    "each just those people how too little state good very make world still own see men work long "
    "get here between both life being under never day same another know while last might us great "
    "old year off come since against go came right used take three house water river garden letter"
)
WORDS = COMMON.split()


class Seed:
    """A source of prompts. What is made of the same names is the same, all else differs.

    ``lasting`` is what stays the same in all runs of a case.
    """

    def __init__(self, *names: object, lasting: Seed | None = None) -> None:
        self._names = names
        self.lasting = lasting or self

    def of(self, *names: object) -> Seed:
        """A seed below this one."""
        return Seed(*self._names, *names, lasting=self.lasting)

    def run(self, number: int) -> Seed:
        """The seed of one run of the case that this is the seed of."""
        return Seed(*self._names, "run", number, lasting=self)

    @property
    def number(self) -> int:
        """32 bits of it."""
        digest = hashlib.sha256(repr(self._names).encode()).digest()
        return int.from_bytes(digest[:4], "big")

    @property
    def opaque(self) -> str:
        """A name that tells nothing, as cache salts and users have it."""
        return hashlib.sha256(repr(self._names).encode()).hexdigest()[:32]

    def words(self, count: int) -> str:
        """So many words, in sentences of a dozen."""
        source = random.Random(self.number)
        words = source.choices(WORDS, k=count)
        for at in range(0, count, 12):
            words[at] = words[at].capitalize()
            words[min(at + 11, count - 1)] += "."
        return " ".join(words)


def turn(role: str, content: str) -> Json:
    """One message."""
    return {"role": role, "content": content}


def body(user: Seed, turns: list[Json], *, tokens: int, public: int = 0) -> Json:
    """A streamed request of ``user`` for an answer of exactly ``tokens`` tokens.

    The first ``public`` turns are an administrator's own, which servers that know it may share.
    """
    return {
        "messages": turns,
        "max_tokens": tokens,
        "ignore_eos": True,
        "temperature": 0,
        "seed": 7,
        "stream": True,
        "stream_options": {"include_usage": True},
        "user": user.opaque,
        "cache_salt": user.opaque,
        **({"public_turns": public} if public else {}),
    }


# What OpenAI's own dialect does not have.
EXTENSIONS = ("ignore_eos", "cache_salt", "public_turns")
