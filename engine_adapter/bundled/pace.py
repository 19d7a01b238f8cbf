"""How many tokens of prompts a step may compute so that nobody's words stall. Knows no sequences.

The budget beside writers is Sarathi-Serve's idea (Agrawal et al., OSDI 2024): the time that the
writers leave of a step's target goes to portions of prompts.
"""

from __future__ import annotations

LEAST_PROMPT = 16  # tokens of prompt in a step, so that writers never starve a reader
LEAST_SHARE = 0.3  # where writers alone take all the time, prompts may make a step longer by this
EACH = 16  # tokens of each prompt in a step while nobody writes: its fixed cost is that of few
ALONE = 4  # with nobody writing, a step may take this many times its target
WEIGHT = 0.3  # of the newest measurement in the moving averages


class Pace:
    """A budget that follows two measured costs: of a step of ``n`` writers, and of a token read.

    Both in seconds, as moving averages. A step never computes more than ``most`` tokens.
    """

    def __init__(self, *, target_s: float, most: int) -> None:
        self._target_s = target_s
        self._most = most
        self._writers_s: dict[int, float] = {}
        self._token_s: float | None = None

    def budget(self, writers: int, readers: int = 1) -> int:
        """Tokens of ``readers`` prompts for a step in which ``writers`` sequences draw their next
        token."""
        most = self._most - writers
        token_s = self._token_s
        if token_s is None:
            return min(2 * LEAST_PROMPT, most)
        if not writers:
            return min(max(EACH * readers, int(ALONE * self._target_s / token_s)), most)
        writers_s = self._writing_s(writers)
        left_s = max(self._target_s - writers_s, LEAST_SHARE * writers_s)
        return min(max(LEAST_PROMPT, int(left_s / token_s)), most)

    def observe(self, writers: int, prompt_tokens: int, seconds: float) -> None:
        """A step took so long. Steps with few prompt tokens say little about their cost."""
        if not prompt_tokens:
            self._writers_s[writers] = _mean(self._writers_s.get(writers), seconds)
        elif prompt_tokens >= LEAST_PROMPT // 2:
            cost = max(seconds - self._writing_s(writers), 0.1 * seconds) / prompt_tokens
            self._token_s = max(1e-6, _mean(self._token_s, cost))

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
