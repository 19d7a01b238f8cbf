"""The bench's arithmetic: percentiles, steady speed, gaps, medians over runs."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.bench import figures
from tests.bench.client import Answer


def answer(
    *frames: float, sent: float = 0.0, tokens: int | None = None, end: float | None = None
) -> Answer:
    """An answer whose text came at these moments."""
    usage = {"completion_tokens": len(frames) if tokens is None else tokens}
    last = frames[-1] if frames else sent
    return Answer(sent, list(frames), last if end is None else end, 200, "length", usage=usage)


def test_percentiles_are_values_that_were_measured() -> None:
    assert figures.percentile([4, 1, 3, 2], 0.5) == 2
    assert figures.percentile(range(1, 101), 0.95) == 95
    assert figures.percentile([5], 0.99) == 5
    assert math.isnan(figures.percentile([], 0.5))


@given(st.lists(st.floats(0, 1e6), min_size=1), st.floats(0.01, 1))
def test_a_percentile_is_the_smallest_that_enough_values_do_not_pass(
    values: list[float], share: float
) -> None:
    found = figures.percentile(values, share)
    needed = share * len(values)
    assert found in values
    assert sum(value <= found for value in values) >= needed - 1e-9
    assert sum(value < found for value in values) < needed


def test_the_first_token_counts_from_the_request() -> None:
    told = figures.first_token([answer(3.0, sent=1.0), answer(2.0, sent=1.5), answer(sent=1.0)])
    assert told == {"first token p50, s": 2.0, "first token p95, s": math.inf}


def test_steady_speed_is_measured_while_all_write() -> None:
    early = answer(1, 2, 3, 4, 5, 6)
    late = answer(3, 4, 5, 6, 7, 8)
    # From 3 to 6 each has three frames, and each frame is a token.
    assert figures.steady([early, late]) == pytest.approx(2.0)


def test_steady_speed_counts_tokens_and_not_frames() -> None:
    assert figures.steady([answer(0, 1, 2, 3, 4, tokens=10)]) == pytest.approx(2.0)


def test_there_is_no_steady_speed_where_one_ends_before_another_begins() -> None:
    assert math.isnan(figures.steady([answer(1, 2), answer(3, 4)]))
    assert math.isnan(figures.steady([answer(1, 2), answer()]))
    assert math.isnan(figures.steady([]))


def test_speed_counts_from_the_first_request_to_the_last_end() -> None:
    assert figures.rate([answer(2, 3, sent=1), answer(3, 4, sent=2, end=5)]) == 1.0


def test_gaps_are_those_that_touch_the_time_asked_for() -> None:
    one = answer(0, 1, 3, 6, 10)
    assert figures.gaps([one]) == [1, 2, 3, 4]
    assert figures.gaps([one], 2, 5) == [2, 3]
    assert figures.gaps([answer(1)]) == []


def test_over_runs_a_figure_is_its_median_and_what_was_not_measured_does_not_count() -> None:
    runs = [{"speed": 1.0, "gap": math.nan}, {"speed": 5.0, "gap": math.nan}, {"speed": 2.0}]
    assert figures.over_runs(runs) == {"speed": figures.Spread(2.0, 1.0, 5.0, (1.0, 5.0, 2.0))}


def test_tokens_are_those_of_the_usage_or_else_those_asked_for() -> None:
    told = Answer(0, [1.0], finish="length", usage={"completion_tokens": 7}, asked_tokens=64)
    silent = Answer(0, [1.0, 2.0], finish="length", asked_tokens=64)
    stopped = Answer(0, [1.0, 2.0], finish="stop", asked_tokens=64)
    assert (told.tokens, silent.tokens, stopped.tokens) == (7, 64, 2)
