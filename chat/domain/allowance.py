"""How much an answer may still grow. No tokenizer is at hand here: letters stand for tokens.

One run writes one ``ANSWER_MAX_TOKENS``, however often it is taken over or asked again; all runs
of an answer together write ``RUNS`` times as much, and then there is no going on.
"""

from __future__ import annotations

from typing import Final

from django.conf import settings

RUNS: Final = 4
# English prose has a little more, other languages and code have less: they may grow longer.
_LETTERS_A_TOKEN: Final = 4


def left(text: str, *, of_this_run: str = "") -> int:
    """Tokens that may still be written after ``text``, whose end ``of_this_run`` is this run's."""
    most: int = settings.ANSWER_MAX_TOKENS
    of_run = most - len(of_this_run) // _LETTERS_A_TOKEN
    of_all = most * RUNS - len(text) // _LETTERS_A_TOKEN
    return max(0, min(of_run, of_all))
