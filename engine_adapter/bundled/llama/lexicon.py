"""All texts of a model's tokens in order, so that those a grammar allows are found together."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence as Many

from engine_adapter.bundled.llama.matcher import Matcher

MOST_VISITS = 1500  # about 4 ms
MOST_KEPT = 64  # such lists come again and again, one between any two members of an object


class Lexicon:
    """The pieces of all tokens, by their numbers; tokens without a text are none."""

    def __init__(self, pieces: Many[bytes]) -> None:
        ranked = sorted((piece, token) for token, piece in enumerate(pieces) if piece)
        self._pieces = [piece for piece, _ in ranked]
        self._tokens = [token for _, token in ranked]

    def fitting(self, matcher: Matcher) -> list[int] | None:
        """All tokens that may come next; None where they are too many to look through."""
        if matcher.here.fitting is not None:
            return matcher.here.fitting
        pieces = self._pieces
        found: list[int] = []
        visits = 0
        todo = [(matcher.here, 0, len(pieces), 0)]
        while todo:
            state, low, high, depth = todo.pop()
            while low < high and len(pieces[low]) == depth:
                found.append(self._tokens[low])
                low += 1
            while low < high:
                byte, prefix = pieces[low][depth], pieces[low][:depth]
                end = (
                    bisect_left(pieces, prefix + bytes([byte + 1]), low, high)
                    if byte < 255
                    else high
                )
                if (after := matcher.follow(state, byte)) is not None:
                    todo.append((after, low, end, depth + 1))
                low = end
                visits += 1
            if visits > MOST_VISITS:
                return None
        if len(found) <= MOST_KEPT:
            matcher.here.fitting = found
        return found
