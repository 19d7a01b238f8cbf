"""Text without a break, which llama.cpp does not survive beyond a length: cut, then tokenised.

Knows no prompt and no llama.cpp.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Protocol

# llama.cpp splits text with std::regex for many models, which recurses for each character between
# two spaces and overflows the stack somewhere between 22,000 and 30,000 of them.
LONGEST_RUN = 8_000
_SHORT_RUNS = re.compile(rf"(?:\S{{1,{LONGEST_RUN}}}+(?!\S)|\s{{1,{LONGEST_RUN}}}+(?!\s))*+")
_SAMPLE = "a"  # any text will do: the model puts the same around each


class Vocabulary(Protocol):
    """Text to tokens, by the model's rules."""

    def tokenize(self, text: str, *, markers: bool, framed: bool = False) -> list[int]:
        """Tokens of the text; ``framed`` between those that begin and end a text."""
        ...


def cut_runs(text: str) -> Iterator[str]:
    """The text, cut only inside runs without white space (or of nothing else) that are too long."""
    begin = 0
    while len(text) - begin > LONGEST_RUN:
        match = _SHORT_RUNS.match(text, begin)
        end = (match.end() if match else begin) + LONGEST_RUN
        if end >= len(text):
            break
        yield text[begin:end]
        begin = end
    if begin < len(text):
        yield text[begin:]


def framed(text: str, vocabulary: Vocabulary) -> list[int]:
    """Tokens of a whole text, with what the model begins and ends one with exactly once around it,
    however many pieces it is read in."""
    pieces = list(cut_runs(text))
    if len(pieces) < 2:
        return vocabulary.tokenize(text, markers=False, framed=True)
    tokens = [token for piece in pieces for token in vocabulary.tokenize(piece, markers=False)]
    opening, closing = _frame(vocabulary)
    return opening + tokens + closing


def _frame(vocabulary: Vocabulary) -> tuple[list[int], list[int]]:
    bare = vocabulary.tokenize(_SAMPLE, markers=False)
    whole = vocabulary.tokenize(_SAMPLE, markers=False, framed=True)
    places = range(len(whole) - len(bare) + 1)
    at = next((at for at in places if whole[at : at + len(bare)] == bare), 0)
    return whole[:at], whole[at + len(bare) :]
