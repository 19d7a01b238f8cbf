"""From moments to figures: percentiles, rates, gaps, and medians over runs. Pure."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from tests.bench.client import Answer

Figures = dict[str, float]


@dataclass(frozen=True, slots=True)
class Spread:
    """A figure over several runs."""

    median: float
    least: float
    most: float
    values: tuple[float, ...]


def percentile(values: Iterable[float], share: float) -> float:
    """The smallest value that at least ``share`` of all do not pass (nearest rank); NaN of none."""
    ordered = sorted(values)
    if not ordered:
        return math.nan
    return ordered[max(0, math.ceil(share * len(ordered)) - 1)]


def spread(values: Sequence[float]) -> Spread:
    """Median, least and most. At least one value."""
    return Spread(statistics.median(values), min(values), max(values), tuple(values))


def over_runs(runs: Sequence[Figures]) -> dict[str, Spread]:
    """Each figure over the runs that have it, in the order of their first run. A figure that
    could not be measured in a run is NaN there and does not count."""
    names = dict.fromkeys(name for run in runs for name in run)
    measured = {
        name: [run[name] for run in runs if not math.isnan(run.get(name, math.nan))]
        for name in names
    }
    return {name: spread(values) for name, values in measured.items() if values}


def gaps(answers: Iterable[Answer], start: float = -math.inf, end: float = math.inf) -> list[float]:
    """Seconds between an answer's frames, of those gaps that touch the time from start to end."""
    return [
        later - earlier
        for answer in answers
        for earlier, later in zip(answer.frames, answer.frames[1:], strict=False)
        if later > start and earlier < end
    ]


def steady(answers: Sequence[Answer]) -> float:
    """Tokens a second between the moment when all have begun and the first end; NaN where one
    ended before another began. Frames only say which part of an answer's tokens fell into it."""
    if not answers or not all(answer.frames for answer in answers):
        return math.nan
    start = max(answer.frames[0] for answer in answers)
    end = min(answer.frames[-1] for answer in answers)
    if end <= start:
        return math.nan
    tokens = 0.0
    for answer in answers:
        within = sum(start < moment <= end for moment in answer.frames)
        tokens += answer.tokens * within / len(answer.frames)
    return tokens / (end - start)


def rate(answers: Sequence[Answer]) -> float:
    """Tokens a second from the first request to the last end."""
    if not answers:
        return math.nan
    began = min(answer.sent for answer in answers)
    ended = max(answer.end for answer in answers)
    return sum(answer.tokens for answer in answers) / (ended - began)


def first_token(answers: Iterable[Answer]) -> Figures:
    """Median and 95th percentile of the first token, in seconds."""
    firsts = [answer.first for answer in answers]
    return {
        "first token p50, s": percentile(firsts, 0.5),
        "first token p95, s": percentile(firsts, 0.95),
    }


def between_tokens(values: Sequence[float]) -> Figures:
    """Median, 99th percentile and largest of the gaps, in seconds."""
    return {
        "between tokens p50, s": percentile(values, 0.5),
        "between tokens p99, s": percentile(values, 0.99),
        "between tokens max, s": max(values, default=math.nan),
    }


def of_crowd(answers: Sequence[Answer]) -> Figures:
    """What every load with many answers at once tells."""
    return {
        "tokens/s": rate(answers),
        **first_token(answers),
        **between_tokens(gaps(answers)),
    }
