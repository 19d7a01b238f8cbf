"""How many tokens of prompts a step may compute so that nobody's words stall. Knows no sequences.

The budget beside writers is Sarathi-Serve's idea (Agrawal et al., OSDI 2024): the time that the
writers leave of a step's target goes to portions of prompts.
"""

from __future__ import annotations

from dataclasses import dataclass

LEAST_PROMPT = 16  # tokens of prompt in a step, so that writers never starve a reader
LEAST_SHARE = 0.3  # where writers alone take all the time, prompts may make a step longer by this
EACH = 16  # tokens of each prompt in a step while nobody writes: its fixed cost is that of few
ALONE = 4  # with few or no writers, a step may take this many times its target
GRAIN = 64  # tokens of one prompt: half of them cost as much (llama/reading.py)
HOPE = 0.98  # a step: what was not done for long is thought to have become cheaper
WEIGHT = 0.3  # of the newest measurement in the moving averages


@dataclass(frozen=True, slots=True)
class Reading:
    """The prompts that are read while others write: how many, how many tokens the longest misses,
    and how many users wait for their first word for each one whose answers are written."""

    prompts: int = 1
    longest: int = 0
    each: float = 1.0


class Pace:
    """A budget that follows measured costs: of a step of ``n`` writers, and of a token read in
    steps that read much (``GRAIN`` tokens) and in others.

    In seconds, as moving averages. A step never computes more than ``most`` tokens.
    """

    def __init__(self, *, target_s: float, most: int) -> None:
        self._target_s = target_s
        self._most = most
        self._writers_s: dict[int, float] = {}
        self._much_s: float | None = None
        self._little_s: float | None = None

    def budget(self, writers: int, reading: Reading) -> int:
        """Tokens of prompts for a step in which ``writers`` sequences draw their next token.

        A step is a gap in each answer and a part of each reader's wait: where more read than
        write it may take so many times its target.
        """
        most = self._most - writers
        much_s = self._much_s or self._little_s
        if much_s is None:
            return min(2 * LEAST_PROMPT, most)
        writers_s = self._writing_s(writers)
        times = min(ALONE, max(1.0, reading.each)) if writers else ALONE
        left_s = max(times * self._target_s - writers_s, LEAST_SHARE * writers_s)
        least = LEAST_PROMPT if writers else EACH * reading.prompts
        tokens = int(left_s / much_s)
        if tokens < GRAIN:
            little_s = self._little_s or much_s
            whole = reading.longest >= GRAIN <= 2 * tokens
            tokens = GRAIN if whole else min(int(left_s / little_s), GRAIN - 1)
        return min(max(least, tokens), most)

    def observe(self, writers: int, prompt_tokens: int, seconds: float) -> None:
        """A step took so long. Steps with few prompt tokens say little about their cost."""
        if not prompt_tokens:
            self._writers_s[writers] = _mean(self._writers_s.get(writers), seconds)
        elif prompt_tokens >= LEAST_PROMPT // 2:
            cost = max(seconds - self._writing_s(writers), 0.1 * seconds) / prompt_tokens
            if prompt_tokens >= GRAIN:
                self._much_s = max(1e-6, _mean(self._much_s, cost))
            else:
                self._little_s = max(1e-6, _mean(self._little_s, cost))
                self._much_s = self._much_s and HOPE * self._much_s

    def _writing_s(self, writers: int) -> float:
        """Cost of a step of so many writers: as measured, or as with the next number measured."""
        if not writers or not self._writers_s:
            return 0.0
        known = self._writers_s.get(writers)
        if known is not None:
            return known
        nearest = min(self._writers_s, key=lambda n: abs(n - writers))
        return self._writers_s[nearest]


def _mean(before: float | None, newest: float) -> float:
    return newest if before is None else WEIGHT * newest + (1 - WEIGHT) * before
