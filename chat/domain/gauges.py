"""How full each model was, minute by minute: noted from what its engine tells, kept for a day."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final
from uuid import UUID

from django.db import connection
from django.utils import timezone

from chat.models import EngineConnection, GaugeMinute, LanguageModel
from engine_adapter.types import Gauges

KEPT: Final = timedelta(days=1)
MOST: Final = 1_000_000

# Whoever looks twice in one minute, or beside another, adds a look to it.
_NOTE: Final = """
    INSERT INTO chat_gaugeminute AS old
        (language_model_id, at, looks, running, waiting, kv_use, slots, asked_tokens, found_tokens)
    VALUES (%s, date_trunc('minute', now()), 1, %s, %s, %s, %s, %s, %s)
    ON CONFLICT (language_model_id, at) DO UPDATE SET
        looks = old.looks + 1,
        running = old.running + excluded.running,
        waiting = old.waiting + excluded.waiting,
        kv_use = old.kv_use + excluded.kv_use,
        slots = excluded.slots,
        asked_tokens = excluded.asked_tokens,
        found_tokens = excluded.found_tokens
    WHERE old.looks < 1000
"""


@dataclass(frozen=True, slots=True)
class Minute:
    """Means over one minute: requests, and shares of one. ``hits`` is the share of the prompt
    tokens of this minute that were not computed again; None where none were read."""

    waiting: float | None
    kv_use: float | None
    hits: float | None
    running: float | None
    slots: int | None


def note(row: EngineConnection, whole: Gauges, each: Mapping[str, Gauges]) -> None:
    """Write down what an engine tells now. What it tells of all its models together is one
    model's where it has no other."""
    models = {
        runs or name: pk
        for pk, name, runs in LanguageModel.objects.filter(engine=row, available=True).values_list(
            "pk", "name", "runs_name"
        )
    }
    if not each and len(models) == 1:
        each = dict.fromkeys(models, whole)
    told = [(models[name], gauges) for name, gauges in each.items() if name in models]
    with connection.cursor() as cursor:
        for pk, one in told:
            if one.running is None and one.waiting is None and one.kv_use is None:
                continue
            counts = (_few(one.running), _few(one.waiting), one.kv_use, _few(one.slots) or None)
            cursor.execute(_NOTE, (pk, *counts, one.asked_tokens, one.found_tokens))


def _few(count: int | None) -> int | None:
    """Requests or slots: more than this no engine has, whatever it says."""
    return None if count is None else min(count, MOST)


def forget() -> None:
    """What is older than a day."""
    GaugeMinute.objects.filter(at__lt=timezone.now() - KEPT).delete()


def since(moment: datetime) -> dict[UUID, dict[datetime, Minute]]:
    """Language model → minute → what was noted. A model that did nothing is missing."""
    rows: dict[UUID, list[GaugeMinute]] = {}
    # One minute more: how far a counter went is the difference to the minute before.
    wanted = GaugeMinute.objects.filter(at__gte=moment - timedelta(minutes=1)).order_by("at")
    for row in wanted:
        rows.setdefault(row.language_model_id, []).append(row)
    return {
        model: {
            row.at: _minute(row, before)
            for before, row in zip([None, *own], own, strict=False)
            if row.at >= moment
        }
        for model, own in rows.items()
        if any(row.running or row.waiting for row in own)
    }


def _minute(row: GaugeMinute, before: GaugeMinute | None) -> Minute:
    def mean(value: float | None) -> float | None:
        return None if value is None else value / row.looks

    return Minute(
        mean(row.waiting), mean(row.kv_use), _hits(row, before), mean(row.running), row.slots
    )


def _hits(row: GaugeMinute, before: GaugeMinute | None) -> float | None:
    """An engine that was started anew counts from zero again."""
    if before is None or row.asked_tokens is None or row.found_tokens is None:
        return None
    asked = row.asked_tokens - (before.asked_tokens or 0)
    found = row.found_tokens - (before.found_tokens or 0)
    if asked < 0 or found < 0:
        asked, found = row.asked_tokens, row.found_tokens
    return min(1.0, found / asked) if asked else None
