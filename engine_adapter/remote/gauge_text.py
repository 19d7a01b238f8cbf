"""Prometheus' text form, read for the few numbers that say how busy an engine is. Pure."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from engine_adapter.types import Gauges


@dataclass(frozen=True, slots=True)
class Names:
    """What an engine calls our gauges. Of the last three, ``hits`` and ``misses`` (or ``asked``,
    which is both together) are counters of tokens; ``hit_rate`` is a share told as such.
    ``slots`` is how many answers can be written at once."""

    running: str
    waiting: str
    kv_use: str = ""
    preempted: str = ""
    written: str = ""
    hits: str = ""
    misses: str = ""
    asked: str = ""
    hit_rate: str = ""
    slots: str = ""


Samples = Mapping[str, list[float]]
# vLLM's label, and ours; SGLang has the same.
_MODEL = re.compile(rb'[{,]model_name="((?:[^"\\]|\\.)*)"')
_MOST = 1 << 53
_ESCAPED = re.compile(r"\\(.)")


def samples(page: bytes) -> Samples:
    """Every value under its metric's name, whatever its labels. What cannot be read is left out."""
    found: dict[str, list[float]] = {}
    for row in page.decode("utf-8", "replace").split("\n"):
        name, brace, rest = row.partition("{")
        # A label's value may hold anything but an end of line; the number stands behind the last.
        head, _, value = rest.rpartition("} ") if brace else row.partition(" ")
        try:
            number = float(value.split(" ")[0])
        except (ValueError, IndexError):
            continue
        if not row.startswith("#") and math.isfinite(number):
            found.setdefault(name if brace else head, []).append(number)
    return found


def gauges(page: bytes, names: Names) -> Gauges:
    """How busy the engine is that wrote ``page``."""
    told = samples(page)
    hits, asked = _sum(told, names.hits), _sum(told, names.asked)
    if asked is None and hits is not None:
        asked = hits + (_sum(told, names.misses) or 0)
    rate = _mean(told, names.hit_rate)
    return Gauges(
        running=_whole(_sum(told, names.running)),
        waiting=_whole(_sum(told, names.waiting)),
        kv_use=_mean(told, names.kv_use),
        prefix_hits=_share(hits / asked) if hits is not None and asked else rate,
        preempted=_whole(_sum(told, names.preempted)),
        written_tokens=_whole(_sum(told, names.written)),
        slots=_whole(_sum(told, names.slots)),
        asked_tokens=_whole(asked),
        found_tokens=_whole(hits),
    )


def by_model(page: bytes, names: Names) -> dict[str, Gauges]:
    """The same for each model that its samples name; nothing where they name none."""
    rows: dict[str, list[bytes]] = {}
    for row in page.split(b"\n"):
        if match := _MODEL.search(row):
            name = match[1].decode("utf-8", "replace")
            rows.setdefault(_ESCAPED.sub(_unescaped, name), []).append(row)
    return {name: gauges(b"\n".join(own), names) for name, own in rows.items()}


def _unescaped(match: re.Match[str]) -> str:
    return "\n" if match[1] == "n" else match[1]


def together(parts: Sequence[Gauges]) -> Gauges:
    """Several engines as one: counts are added up, of shares it is the mean."""

    def counted(name: str) -> int | None:
        values = [value for part in parts if (value := getattr(part, name)) is not None]
        return sum(values) if values else None

    def shared(name: str) -> float | None:
        values = [value for part in parts if (value := getattr(part, name)) is not None]
        return sum(values) / len(values) if values else None

    return Gauges(
        running=counted("running"),
        waiting=counted("waiting"),
        slots=counted("slots"),
        kv_use=shared("kv_use"),
        prefix_hits=shared("prefix_hits"),
        preempted=counted("preempted"),
        written_tokens=counted("written_tokens"),
        asked_tokens=counted("asked_tokens"),
        found_tokens=counted("found_tokens"),
    )


def _sum(told: Samples, name: str) -> float | None:
    # An engine of several parts tells each part's count.
    return sum(told[name]) if name in told else None


def _mean(told: Samples, name: str) -> float | None:
    return _share(sum(told[name]) / len(told[name])) if name in told else None


def _share(value: float) -> float:
    return min(1.0, max(0.0, value))


def _whole(value: float | None) -> int | None:
    return None if value is None else min(_MOST, max(0, int(value)))
