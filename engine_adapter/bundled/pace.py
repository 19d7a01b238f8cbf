"""How many tokens a step may compute so that nobody's words stall. Knows no sequences."""

from __future__ import annotations

LEAST_PROMPT = 16  # tokens of prompt in every step, so that writers never starve a reader
ALONE = 4  # with nobody writing, a step may take this many times its target
WEIGHT = 0.3  # of the newest measurement in the moving average


class Pace:
    """A token budget that follows the measured cost of a token.

    The budget beside writers is Sarathi-Serve's idea (Agrawal et al., OSDI 2024): the time that
    the writers leave of the target goes to a portion of prompt.
    """

    def __init__(self, *, target_s: float, most: int) -> None:
        self._target_s = target_s
        self._most = most
        self._token_s: float | None = None

    def budget(self, writers: int) -> int:
        """Tokens for a step in which ``writers`` sequences draw their next token."""
        least = writers + LEAST_PROMPT
        if self._token_s is None:
            return min(2 * least, self._most)
        target_s = self._target_s if writers else ALONE * self._target_s
        return min(max(least, int(target_s / self._token_s)), self._most)

    def observe(self, tokens: int, seconds: float) -> None:
        """A step computed ``tokens`` in ``seconds``. Steps with too few say little: left out."""
        if tokens < LEAST_PROMPT:
            return
        cost = max(seconds / tokens, 1e-6)
        self._token_s = (
            cost if self._token_s is None else WEIGHT * cost + (1 - WEIGHT) * self._token_s
        )
