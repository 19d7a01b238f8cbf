"""A worker's counts: in the right bucket, as JSON, and never going back over its lives."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine_adapter.bundled.tally import BOUNDS, COUNTERS, ENDS, GAUGES, Lives, Snapshot, Tally
from engine_adapter.types import FinishReason

CALLS = st.sampled_from(["step", "first", "inter", "finished", "preempted", "queried", "read"])


def do(tally: Tally, call: str) -> None:
    match call:
        case "step":
            tally.step(40, 8, 0.1, 16)
        case "first":
            tally.first_token(0.3)
        case "inter":
            tally.inter_token(0.03)
        case "finished":
            tally.finished("stop", 100, 60, 20, 2.0)
        case "preempted":
            tally.preempted()
        case "queried":
            tally.queried_prefix(100, 60)
        case "read":
            tally.read(100)


def falls_in(name: str, value: float) -> tuple[float, float]:
    """The bucket of ``name`` that counted ``value``: above which bound, up to which."""
    tally = Tally()
    match name:
        case "first_token_s":
            tally.first_token(value)
        case "step_s":
            tally.step(1, 1, value, 1)
    [index] = [i for i, n in enumerate(tally.snapshot()["histograms"][name]["counts"]) if n]
    edges = [float("-inf"), *BOUNDS[name], float("inf")]
    return edges[index], edges[index + 1]


@given(
    name=st.sampled_from(["first_token_s", "step_s"]),
    value=st.floats(0, 10_000) | st.sampled_from(BOUNDS["first_token_s"] + BOUNDS["step_s"]),
)
def test_a_value_is_counted_under_the_first_bound_that_reaches_it(name: str, value: float) -> None:
    above, up_to = falls_in(name, value)
    assert above < value <= up_to


@pytest.mark.parametrize("name", BOUNDS)
def test_bounds_rise(name: str) -> None:
    assert all(a < b for a, b in pairwise(BOUNDS[name]))


def test_a_step_counts_its_tokens_its_time_and_how_full_it_was() -> None:
    tally = Tally()
    tally.step(40, 8, 0.5, 16)
    snapshot = tally.snapshot()
    sums = {name: counts["sum"] for name, counts in snapshot["histograms"].items()}
    assert (sums["step_tokens"], sums["step_s"], sums["batch_fill"]) == (40, 0.5, 0.5)


def test_a_prompt_counts_once_it_was_read_whatever_the_cache_had_of_it() -> None:
    tally = Tally()
    tally.queried_prefix(100, 60)
    tally.step(40, 0, 0.5, 16)
    assert tally.snapshot()["counters"]["prompt_tokens"] == 0
    tally.read(100)
    counters = tally.snapshot()["counters"]
    assert counters["prompt_tokens"] == 100
    assert (counters["prefix_queries"], counters["prefix_hits"]) == (100, 60)


def test_every_drawn_token_is_a_generated_one() -> None:
    tally = Tally()
    for call in ("first", "inter", "inter", "first"):
        do(tally, call)
    assert tally.snapshot()["counters"]["generation_tokens"] == 4


def test_every_way_an_answer_ends_is_counted() -> None:
    assert set(ENDS) == {*get_args(FinishReason), "failed"}
    tally = Tally()
    for times, end in enumerate(ENDS, 1):
        for _ in range(times):
            tally.finished(end, 100, 60, 20, 2.0)
    snapshot = tally.snapshot()
    assert snapshot["ends"] == {end: times for times, end in enumerate(ENDS, 1)}
    assert sum(snapshot["histograms"]["request_s"]["counts"]) == 21
    assert snapshot["counters"]["cached_tokens"] == 21 * 60
    assert snapshot["histograms"]["request_prompt_tokens"]["sum"] == 2100
    assert snapshot["histograms"]["request_generation_tokens"]["sum"] == 420


@given(st.lists(CALLS, max_size=30))
def test_a_snapshot_is_json_and_stays_as_it_was(calls: list[str]) -> None:
    tally = Tally()
    tally.running, tally.waiting, tally.kv_usage, tally.cache_bytes = 3, 2, 0.5, 1 << 40
    for call in calls:
        do(tally, call)
    snapshot = tally.snapshot()
    before = json.dumps(snapshot)
    assert json.loads(before) == snapshot
    assert (tuple(snapshot["counters"]), tuple(snapshot["gauges"])) == (COUNTERS, GAUGES)
    for call in ("step", "first", "inter", "finished", "preempted", "queried", "read"):
        do(tally, call)
    assert json.dumps(snapshot) == before


def numbers(snapshot: Snapshot) -> list[float]:
    """Everything that may only grow."""
    histograms = snapshot["histograms"].values()
    return [
        *snapshot["counters"].values(),
        *snapshot["ends"].values(),
        *(count for counts in histograms for count in counts["counts"]),
        *(counts["sum"] for counts in histograms),
    ]


@given(st.lists(CALLS | st.sampled_from(["tell", "die"]), max_size=60))
def test_counts_never_go_back_over_a_models_lives(events: list[str]) -> None:
    lives, tally, told = Lives(), Tally(), Tally()
    seen = numbers(lives.total())
    for event in events:
        if event == "tell":
            lives.tell(tally.snapshot())
        elif event == "die":
            lives.tell(tally.snapshot())
            lives.end()
            tally = Tally()
        else:
            do(tally, event)
            do(told, event)
        now = numbers(lives.total())
        assert all(a <= b for a, b in zip(seen, now, strict=True))
        seen = now
    lives.tell(tally.snapshot())
    assert numbers(lives.total()) == pytest.approx(numbers(told.snapshot()))


def test_what_a_dead_worker_held_is_held_no_more() -> None:
    lives, tally = Lives(), Tally()
    tally.running, tally.kv_usage = 3, 0.5
    tally.preempted()
    lives.tell(tally.snapshot())
    assert lives.total()["gauges"]["running"] == 3
    lives.end()
    total = lives.total()
    assert set(total["gauges"].values()) == {0}
    assert total["counters"]["preemptions"] == 1
