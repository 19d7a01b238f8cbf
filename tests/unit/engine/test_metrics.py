"""``/metrics`` as a Prometheus client reads it."""

from __future__ import annotations

from itertools import pairwise
from typing import get_args

from hypothesis import given
from hypothesis import strategies as st
from prometheus_client import Metric
from prometheus_client.parser import text_string_to_metric_families

from engine_adapter.bundled.metrics import Measured, render
from engine_adapter.bundled.tally import BOUNDS, Tally
from engine_adapter.types import ModelState


def busy() -> Tally:
    """Something in every number, no two alike."""
    tally = Tally()
    tally.running, tally.waiting, tally.kv_usage, tally.cache_bytes = 3, 2, 0.25, 4096
    tally.step(40, 8, 0.1, 16)
    tally.step(9, 9, 99.0, 16)
    tally.read(92)
    tally.queried_prefix(100, 60)
    tally.first_token(0.3)
    for _ in range(4):
        tally.inter_token(0.03)
    tally.preempted()
    for end in ("stop", "tool_calls", "length", "length", "cancelled", "failed"):
        tally.finished(end, 92, 60, 5, 2.0)
    return tally


def read(models: dict[str, Measured]) -> dict[str, Metric]:
    families = list(text_string_to_metric_families(render(models).decode()))
    assert len({family.name for family in families}) == len(families)
    return {family.name: family for family in families}


def samples(family: Metric) -> dict[tuple[str, ...], float]:
    """Value by the labels' values, the model's name first."""
    return {tuple(sample.labels.values()): sample.value for sample in family.samples}


def test_the_numbers_stand_under_vllms_names() -> None:
    families = read({"m": Measured("loaded", busy().snapshot(), deaths=2)})
    told = {name: samples(family).get(("m",)) for name, family in families.items()}
    expected = {
        "vllm:num_requests_running": 3,
        "vllm:num_requests_waiting": 2,
        "vllm:kv_cache_usage_perc": 0.25,
        "vllm:prompt_tokens": 92,
        "vllm:prompt_tokens_cached": 360,
        "vllm:generation_tokens": 5,
        "vllm:prefix_cache_queries": 100,
        "vllm:prefix_cache_hits": 60,
        "vllm:num_preemptions": 1,
        "konak:prefix_cache_bytes": 4096,
        "konak:worker_deaths": 2,
    }
    assert {name: told[name] for name in expected} == expected
    kinds = {name: family.type for name, family in families.items()}
    assert kinds["vllm:prompt_tokens"] == kinds["konak:worker_deaths"] == "counter"
    assert kinds["vllm:num_requests_running"] == kinds["konak:model_state"] == "gauge"


def test_a_counters_name_ends_in_total() -> None:
    for family in read({"m": Measured("loaded")}).values():
        if family.type == "counter":
            assert {sample.name for sample in family.samples} == {f"{family.name}_total"}


def test_histograms_have_rising_buckets_that_end_in_the_count() -> None:
    families = read({"m": Measured("loaded", busy().snapshot())})
    histograms = {name: f for name, f in families.items() if f.type == "histogram"}
    assert set(histograms) == {
        "vllm:time_to_first_token_seconds",
        "vllm:inter_token_latency_seconds",
        "vllm:e2e_request_latency_seconds",
        "vllm:request_prompt_tokens",
        "vllm:request_generation_tokens",
        "vllm:iteration_tokens_total",
        "konak:step_seconds",
        "konak:batch_fill",
    }
    for name, family in histograms.items():
        buckets = {s.labels["le"]: s.value for s in family.samples if s.name == f"{name}_bucket"}
        [count] = [s.value for s in family.samples if s.name == f"{name}_count"]
        edges = [float(edge) for edge in buckets]
        assert all(a < b for a, b in pairwise(edges)) and edges[-1] == float("inf")
        assert all(a <= b for a, b in pairwise(buckets.values()))
        assert buckets["+Inf"] == count > 0
    steps = {s.labels.get("le"): s for s in histograms["konak:step_seconds"].samples}
    assert (steps["0.08"].value, steps["0.1"].value, steps["10.0"].value) == (0, 1, 1)
    [total] = [s for s in histograms["konak:step_seconds"].samples if s.name.endswith("_sum")]
    assert total.value == 99.1


def test_ends_are_told_in_vllms_words() -> None:
    family = read({"m": Measured("loaded", busy().snapshot())})["vllm:request_success"]
    assert {s.labels["finished_reason"]: s.value for s in family.samples} == {
        "stop": 2,
        "length": 2,
        "abort": 1,
        "error": 1,
    }


def test_a_model_is_in_one_state() -> None:
    states = get_args(ModelState)
    family = read({state: Measured(state) for state in states})["konak:model_state"]
    assert samples(family) == {(m, s): float(m == s) for m in states for s in states}


def test_without_a_model_there_are_only_the_heads() -> None:
    assert all(not family.samples for family in read({}).values())


@given(st.lists(st.text(), min_size=1, max_size=3, unique=True))
def test_any_name_comes_back_as_it_was(names: list[str]) -> None:
    families = read({name: Measured("loaded", busy().snapshot()) for name in names})
    for family in families.values():
        assert list(dict.fromkeys(s.labels["model_name"] for s in family.samples)) == names


def test_no_label_says_more_than_the_model_and_our_own_words() -> None:
    families = read({"m": Measured("loaded", busy().snapshot())})
    found: dict[str, set[str]] = {}
    for family in families.values():
        for sample in family.samples:
            for label, value in sample.labels.items():
                found.setdefault(label, set()).add(value)
    edges = {repr(float(edge)) for bounds in BOUNDS.values() for edge in bounds} | {"+Inf"}
    assert found == {
        "model_name": {"m"},
        "le": edges,
        "finished_reason": {"stop", "length", "abort", "error"},
        "state": set(get_args(ModelState)),
    }
