"""From what readers saw and processes spent to the figures of ``deploy/bench web``. Pure."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from typing import Any

from tests.bench.client import Json
from tests.bench.figures import percentile

# Figure → the limit it is held to; README says where the numbers come from.
LIMITS = {
    "cpu_s_per_1000_tokens": 0.25,
    "first_token_p95_s": 0.5,
    "added_delay_p95_ms": 120.0,
    "memory_pss_mb": 500.0,
}


def of_round(told: Sequence[Json], spent: Mapping[str, float], wall_s: float) -> Json:
    """The figures of one round."""
    tokens = sum(one["tokens"] for one in told)
    delays = [delay for one in told for delay in one["delays_ms"]]
    firsts = [one["first_s"] for one in told if one["first_s"] is not None]
    accepted = [one["accepted_s"] for one in told if one["accepted_s"] is not None]
    each = {name: 1000 * seconds / tokens for name, seconds in spent.items()} if tokens else {}
    return {
        "tokens": tokens,
        "failed": sum(one["end"] != "done" for one in told),
        "ends": sorted({one["end"] for one in told}),
        "wall_s": wall_s,
        "cpu_s_per_1000_tokens": sum(each.values()),
        "cpu_s_per_1000_tokens_of": each,
        "first_token_p50_s": percentile(firsts, 0.5),
        "first_token_p95_s": percentile(firsts, 0.95),
        "accepted_p95_s": percentile(accepted, 0.95),
        "added_delay_p50_ms": percentile(delays, 0.5),
        "added_delay_p95_ms": percentile(delays, 0.95),
        "frames_per_token": sum(one["frames"] for one in told) / tokens if tokens else None,
        "bytes_per_token": sum(one["size"] for one in told) / tokens if tokens else None,
    }


def median(rounds: Sequence[Json]) -> Json:
    """Of every figure over the rounds; of texts and lists those of the last."""
    return {name: _median([one[name] for one in rounds]) for name in rounds[-1]}


def _median(values: Sequence[Any]) -> Any:
    last = values[-1]
    if isinstance(last, dict):
        return {name: _median([value[name] for value in values]) for name in last}
    return statistics.median(values) if isinstance(last, int | float) else last


def table(result: Json) -> str:
    """For people."""
    figures, memory = result["median"], result["memory_mb"]
    lines = [f"{result['users']} readers, {result['tokens']} tokens each at {result['pace']:g} a "
             f"second, {len(result['rounds'])} rounds; medians"]  # fmt: skip
    for name, value in figures.items():
        if isinstance(value, dict):
            lines += [f"    {part:<34}{share:>10.3f}" for part, share in value.items()]
        elif isinstance(value, int | float):
            limit = f"   (at most {LIMITS[name]:g})" if name in LIMITS else ""
            lines.append(f"  {name:<36}{value:>10.3f}{limit}")
    lines.append(f"  {'memory in MB':<36}{'rss':>10}{'pss':>10}")
    for name, one in memory.items():
        lines.append(f"    {name:<34}{one['rss']:>10.1f}{one['pss']:>10.1f}   {one['processes']}")
    return "\n".join(lines)
