"""The host's ``/metrics``: each model's counts in Prometheus's text form (version 0.0.4).

Names are vLLM's where it has one, ``konak:`` where it has none. The only labels are a model's name
and words of our own: nobody's text, user or salt can get in here.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import accumulate
from typing import get_args

from engine_adapter.bundled.tally import BOUNDS, Counts, Snapshot, Tally
from engine_adapter.types import ModelState

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"


@dataclass(frozen=True, slots=True)
class Measured:
    """One model: what its workers counted, how often one of them died, and the ``slots`` of the one
    that is there."""

    state: ModelState
    tally: Snapshot = field(default_factory=lambda: Tally().snapshot())
    deaths: int = 0
    slots: int = 0


@dataclass(frozen=True, slots=True)
class _Family:
    key: str  # in the snapshot
    name: str
    help: str


_GAUGES = (
    _Family("running", "vllm:num_requests_running", "Requests that are being computed."),
    _Family("waiting", "vllm:num_requests_waiting", "Requests in line."),
    _Family("kv_usage", "vllm:kv_cache_usage_perc", "Used share of the lanes' memory, 0 to 1."),
    _Family("cache_bytes", "konak:prefix_cache_bytes", "Memory that kept prefixes take."),
)
_COUNTERS = (
    _Family("prompt_tokens", "vllm:prompt_tokens_total", "Prompt tokens, computed or cached."),
    _Family("cached_tokens", "vllm:prompt_tokens_cached_total", "Prompt tokens from the cache."),
    _Family("generation_tokens", "vllm:generation_tokens_total", "Tokens drawn."),
    _Family("prefix_queries", "vllm:prefix_cache_queries_total", "Tokens looked up."),
    _Family("prefix_hits", "vllm:prefix_cache_hits_total", "Tokens found in the prefix cache."),
    _Family("preemptions", "vllm:num_preemptions_total", "Sequences that were set back."),
)
_HISTOGRAMS = (
    _Family("first_token_s", "vllm:time_to_first_token_seconds", "From asking to first token."),
    _Family("inter_token_s", "vllm:inter_token_latency_seconds", "From one token to the next."),
    _Family("request_s", "vllm:e2e_request_latency_seconds", "From asking to the answer's end."),
    _Family("request_prompt_tokens", "vllm:request_prompt_tokens", "Tokens of a prompt."),
    _Family("request_generation_tokens", "vllm:request_generation_tokens", "Tokens of an answer."),
    _Family("step_tokens", "vllm:iteration_tokens_total", "Tokens computed in one step."),
    _Family("step_s", "konak:step_seconds", "Time of one step."),
    _Family("batch_fill", "konak:batch_fill", "Answers written in one step, of all slots."),
)
# vLLM's words for how a request ended; several of ours are one of theirs.
_ENDS = {
    "stop": ("stop", "tool_calls"),
    "length": ("length",),
    "abort": ("cancelled",),
    "error": ("other", "failed"),
}
_ESCAPES = str.maketrans({"\\": r"\\", "\n": r"\n", '"': r"\""})


def render(models: Mapping[str, Measured]) -> bytes:
    """The page. Families come in a fixed order, models in the order given."""
    labelled = {_label("model_name", name): model for name, model in models.items()}
    text = "".join(f"{line}\n" for line in _lines(labelled))
    return text.encode("utf-8", "replace")


def _lines(models: Mapping[str, Measured]) -> Iterator[str]:
    for family in _GAUGES:
        yield from _head(family.name, "gauge", family.help)
        for label, model in models.items():
            yield f"{family.name}{{{label}}} {model.tally['gauges'][family.key]}"
    for family in _COUNTERS:
        yield from _head(family.name, "counter", family.help)
        for label, model in models.items():
            yield f"{family.name}{{{label}}} {model.tally['counters'][family.key]}"
    for family in _HISTOGRAMS:
        yield from _head(family.name, "histogram", family.help)
        for label, model in models.items():
            counts = model.tally["histograms"][family.key]
            yield from _buckets(family.name, label, BOUNDS[family.key], counts)
    yield from _ends(models)
    yield from _states(models)


def _ends(models: Mapping[str, Measured]) -> Iterator[str]:
    name = "vllm:request_success_total"
    yield from _head(name, "counter", "Requests that are over, by how they ended.")
    for label, model in models.items():
        for reason, ours in _ENDS.items():
            count = sum(model.tally["ends"][end] for end in ours)
            yield f"{name}{{{label},{_label('finished_reason', reason)}}} {count}"


def _states(models: Mapping[str, Measured]) -> Iterator[str]:
    name = "konak:model_state"
    yield from _head(name, "gauge", "1 for the state a model is in, 0 for the others.")
    for label, model in models.items():
        for state in get_args(ModelState):
            yield f"{name}{{{label},{_label('state', state)}}} {int(model.state == state)}"
    yield from _head("konak:slots", "gauge", "Answers that can be written at once.")
    for label, model in models.items():
        yield f"konak:slots{{{label}}} {model.slots}"
    yield from _head("konak:worker_deaths_total", "counter", "Workers that died unasked.")
    for label, model in models.items():
        yield f"konak:worker_deaths_total{{{label}}} {model.deaths}"


def _head(name: str, kind: str, help_: str) -> tuple[str, str]:
    return f"# HELP {name} {help_}", f"# TYPE {name} {kind}"


def _buckets(name: str, label: str, bounds: Iterable[float], counts: Counts) -> Iterator[str]:
    edges = [*(repr(float(bound)) for bound in bounds), "+Inf"]
    running = list(accumulate(counts["counts"]))
    for edge, count in zip(edges, running, strict=True):
        yield f"{name}_bucket{{{label},{_label('le', edge)}}} {count}"
    yield f"{name}_sum{{{label}}} {counts['sum']}"
    yield f"{name}_count{{{label}}} {running[-1]}"


def _label(name: str, value: str) -> str:
    return f'{name}="{value.translate(_ESCAPES)}"'
