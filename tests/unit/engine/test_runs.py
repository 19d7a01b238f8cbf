"""Text without a break is cut where llama.cpp would not survive it, and nowhere else."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from engine_adapter.bundled.prompt import Prompt, tokens_of
from engine_adapter.bundled.runs import LONGEST_RUN, cut_runs, framed

RUNS = st.lists(
    st.tuples(st.sampled_from([" ", "x", "x ", "\n", "🌊"]), st.integers(1, 20_000)), max_size=6
)
BEGIN, END = 1, 2


class Letters:
    """A vocabulary of one token a character and two around a text, which remembers what it was
    asked."""

    bos = None

    def __init__(self, begin: tuple[int, ...] = (BEGIN,), end: tuple[int, ...] = (END,)) -> None:
        self.asked: list[str] = []
        self._begin, self._end = begin, end

    def tokenize(self, text: str, *, markers: bool, framed: bool = False) -> list[int]:
        assert not markers
        self.asked.append(text)
        letters = [ord(letter) for letter in text]
        return [*self._begin, *letters, *self._end] if framed else letters

    def marker(self, kind: str) -> str:
        return ""


def text_of(runs: list[tuple[str, int]]) -> str:
    return "".join(unit * count for unit, count in runs)


@given(RUNS)
def test_only_runs_that_are_too_long_are_cut(runs: list[tuple[str, int]]) -> None:
    text = text_of(runs)
    pieces = list(cut_runs(text))
    assert "".join(pieces) == text
    assert all(pieces)
    for piece in pieces:
        assert max(map(len, piece.split()), default=0) <= LONGEST_RUN
    for before, after in pairwise(pieces):
        end = before[-LONGEST_RUN:]
        assert end.isspace() == after[0].isspace()
        assert end.isspace() or not any(char.isspace() for char in end)
    letters = Letters()
    tokens_of(Prompt(((text, False),)), letters)
    assert letters.asked == pieces


@given(
    RUNS, st.sampled_from([((BEGIN,), (END,)), ((), ()), ((), (END,)), ((BEGIN, BEGIN), (END,))])
)
def test_a_text_begins_and_ends_once_however_it_is_cut(
    runs: list[tuple[str, int]], frame: tuple[tuple[int, ...], tuple[int, ...]]
) -> None:
    text, (begin, end) = text_of(runs), frame
    letters = Letters(begin, end)
    assert framed(text, letters) == [*begin, *map(ord, text), *end]
    assert max((len(run) for asked in letters.asked for run in asked.split()), default=0) <= (
        LONGEST_RUN
    )
