"""What one model's worker counts while it computes, and the sum over its lives.

Plain Python that is called inside the decode loop: no locks, no names, no text. Knows neither
Prometheus nor the host.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable
from typing import Literal, TypedDict

from engine_adapter.types import FinishReason

End = FinishReason | Literal["failed"]

# vLLM's own bounds, so that its dashboards fit; those of single steps and of the fill are ours.
BOUNDS: dict[str, tuple[float, ...]] = {
    "first_token_s": (
        *(0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5, 0.75),
        *(1.0, 2.5, 5.0, 7.5, 10.0, 20.0, 40.0, 80.0, 160.0, 640.0, 2560.0),
    ),
    "inter_token_s": (
        *(0.01, 0.025, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.75),
        *(1.0, 2.5, 5.0, 7.5, 10.0, 20.0, 40.0, 80.0),
    ),
    "request_s": (
        *(0.3, 0.5, 0.8, 1.0, 1.5, 2.0, 2.5, 5.0, 10.0, 15.0, 20.0, 30.0, 40.0, 50.0, 60.0),
        *(120.0, 240.0, 480.0, 960.0, 1920.0, 7680.0),
    ),
    "request_prompt_tokens": (
        *(1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000),
        *(10_000, 20_000, 50_000, 100_000, 200_000, 500_000),
    ),
    "request_generation_tokens": (
        *(1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000),
        *(10_000, 20_000, 50_000, 100_000, 200_000, 500_000),
    ),
    "step_tokens": (1, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384),
    "step_s": (0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.15, 0.2, 0.3, 0.5, 1.0, 2.5, 5.0, 10.0),
    "batch_fill": (0.125, 0.25, 0.375, 0.5, 0.625, 0.75, 0.875, 1.0),
}
ENDS: tuple[End, ...] = ("stop", "length", "tool_calls", "cancelled", "other", "failed")
COUNTERS = (
    *("prompt_tokens", "cached_tokens", "generation_tokens"),
    *("prefix_queries", "prefix_hits", "preemptions"),
)
GAUGES = ("running", "waiting", "kv_usage", "cache_bytes")


class Counts(TypedDict):
    """A histogram: how many values fell under each bound and above the last, and their sum."""

    counts: list[int]
    sum: float


class Snapshot(TypedDict):
    """Everything counted so far, as JSON can carry it. Keys are those of the tables above."""

    counters: dict[str, int]
    gauges: dict[str, float]
    ends: dict[str, int]
    histograms: dict[str, Counts]


class Histogram:
    """Counts of values by bound. A value on a bound belongs under it."""

    __slots__ = ("_bounds", "counts", "sum")

    def __init__(self, bounds: tuple[float, ...]) -> None:
        self._bounds = bounds
        self.counts = [0] * (len(bounds) + 1)
        self.sum = 0.0

    def add(self, value: float) -> None:
        """Count one value."""
        self.counts[bisect_left(self._bounds, value)] += 1
        self.sum += value


class Tally:
    """One worker's counts since it started. Times are in seconds, tokens in tokens.

    The gauges ``running`` and ``waiting`` (requests), ``kv_usage`` (0 to 1) and ``cache_bytes``
    are set by whoever knows them. One thread counts; ``snapshot`` may be called from another and
    may then miss the step that is just being counted.
    """

    def __init__(self) -> None:
        self.running = 0
        self.waiting = 0
        self.kv_usage = 0.0
        self.cache_bytes = 0
        self._prompt_tokens = 0
        self._cached_tokens = 0
        self._prefix_queries = 0
        self._prefix_hits = 0
        self._preemptions = 0
        self._ends: dict[str, int] = dict.fromkeys(ENDS, 0)
        self._histograms = {name: Histogram(bounds) for name, bounds in BOUNDS.items()}
        self._step_tokens = self._histograms["step_tokens"].add
        self._step_s = self._histograms["step_s"].add
        self._batch_fill = self._histograms["batch_fill"].add
        self.first_token = self._histograms["first_token_s"].add
        """``first_token(seconds)``: an answer's first token came so long after it was asked."""
        self.inter_token = self._histograms["inter_token_s"].add
        """``inter_token(seconds)``: a further token came so long after the one before."""

    def step(self, tokens: int, writers: int, seconds: float, slots: int) -> None:
        """A step computed ``tokens``, among them the next one of ``writers`` answers, in
        ``seconds``."""
        self._step_tokens(tokens)
        self._step_s(seconds)
        self._batch_fill(writers / slots)

    def read(self, tokens: int) -> None:
        """A prompt of ``tokens`` is known to its end, computed or from the cache. As in vLLM it
        counts once, and not before."""
        self._prompt_tokens += tokens

    def queried_prefix(self, tokens: int, hit: int) -> None:
        """A prompt of ``tokens`` was looked up, and ``hit`` of them need not be computed."""
        self._prefix_queries += tokens
        self._prefix_hits += hit

    def preempted(self) -> None:
        """A running sequence was set back."""
        self._preemptions += 1

    def finished(
        self,
        reason: End,
        prompt_tokens: int,
        cached_tokens: int,
        completion_tokens: int,
        seconds: float,
    ) -> None:
        """An answer is over, ``seconds`` after it was asked; ``failed`` is an error's end."""
        self._ends[reason] += 1
        self._cached_tokens += cached_tokens
        self._histograms["request_s"].add(seconds)
        self._histograms["request_prompt_tokens"].add(prompt_tokens)
        self._histograms["request_generation_tokens"].add(completion_tokens)

    def snapshot(self) -> Snapshot:
        """The counts as they stand, in values of their own."""
        histograms: dict[str, Counts] = {
            name: {"counts": list(histogram.counts), "sum": histogram.sum}
            for name, histogram in self._histograms.items()
        }
        drawn = histograms["first_token_s"]["counts"] + histograms["inter_token_s"]["counts"]
        return {
            "counters": {
                "prompt_tokens": self._prompt_tokens,
                "cached_tokens": self._cached_tokens,
                "generation_tokens": sum(drawn),
                "prefix_queries": self._prefix_queries,
                "prefix_hits": self._prefix_hits,
                "preemptions": self._preemptions,
            },
            "gauges": {
                "running": self.running,
                "waiting": self.waiting,
                "kv_usage": self.kv_usage,
                "cache_bytes": self.cache_bytes,
            },
            "ends": dict(self._ends),
            "histograms": histograms,
        }


class Lives:
    """Counts that never go back. What a worker counted after its last snapshot dies with it."""

    def __init__(self) -> None:
        self._past: Snapshot = Tally().snapshot()
        self._now: Snapshot | None = None

    def tell(self, snapshot: Snapshot) -> None:
        """The newest snapshot of the worker that lives."""
        self._now = snapshot

    def end(self) -> None:
        """That worker is gone: what it counted stays, what it held does not."""
        self._past = self.total()
        self._now = None

    def total(self) -> Snapshot:
        """The counts of all lives, the gauges of the present one."""
        past, now = self._past, self._now or Tally().snapshot()
        return {
            "counters": _sums(past["counters"], now["counters"]),
            "gauges": dict(now["gauges"]),
            "ends": _sums(past["ends"], now["ends"]),
            "histograms": {
                name: {
                    "counts": [a + b for a, b in _pairs(counts, now["histograms"][name])],
                    "sum": counts["sum"] + now["histograms"][name]["sum"],
                }
                for name, counts in past["histograms"].items()
            },
        }


def _sums(past: dict[str, int], now: dict[str, int]) -> dict[str, int]:
    return {name: count + now[name] for name, count in past.items()}


def _pairs(past: Counts, now: Counts) -> Iterable[tuple[int, int]]:
    return zip(past["counts"], now["counts"], strict=True)
