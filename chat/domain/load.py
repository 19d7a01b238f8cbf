"""How busy each model was lately: from the runs themselves, and what its engine told of itself."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Final
from uuid import UUID

from django.db import connection
from django.utils import timezone

from chat.domain import gauges

MINUTES: Final = 60

# ``busy`` is an answer's time in the engine's hands; its tokens are spread over it evenly, since
# only their sum is known. A run that is still going has told no tokens yet.
_RUNS: Final = """
    WITH lately AS MATERIALIZED (
        SELECT m.language_model_id AS model, g.state,
               extract(epoch FROM g.first_text_at - g.created_at) AS first_s,
               coalesce(g.completion_tokens, 0) AS tokens,
               coalesce(g.first_text_at, g.started_at) AS began,
               CASE WHEN g.state IN ('queued', 'running') THEN now() ELSE g.ended_at END AS over
        FROM chat_generation g JOIN chat_message m ON m.id = g.message_id
        WHERE g.created_at > now() - interval '3 hours'
          AND (g.ended_at IS NULL OR g.ended_at > now() - interval '60 minutes')
    )
"""
_SUMS: Final = f"""
    {_RUNS}
    SELECT model,
           count(*) FILTER (WHERE state = 'running'),
           count(*) FILTER (WHERE state = 'queued'),
           count(*) FILTER (WHERE state IN ('done', 'stopped')),
           count(*) FILTER (WHERE state IN ('failed', 'interrupted')),
           percentile_disc(0.5) WITHIN GROUP (ORDER BY first_s),
           percentile_disc(0.95) WITHIN GROUP (ORDER BY first_s)
    FROM lately GROUP BY model
"""  # noqa: S608 - our own words
_MINUTES: Final = f"""
    {_RUNS}
    , minutes AS (
        SELECT date_trunc('minute', now()) - make_interval(mins => n) AS at
        FROM generate_series(0, %(last)s) AS n
    ),
    shares AS (
        SELECT at, model, tokens, extract(epoch FROM over - began) AS whole_s,
               extract(epoch FROM least(over, at + interval '1 minute') - greatest(began, at)) AS s
        FROM minutes JOIN lately ON began < at + interval '1 minute' AND over > at
    ),
    every AS (SELECT DISTINCT lately.model, minutes.at FROM lately CROSS JOIN minutes)
    SELECT model, at, sum(s) / 60, sum(CASE WHEN whole_s > 0 THEN tokens * s / whole_s END) / 60
    FROM every LEFT JOIN shares USING (model, at) GROUP BY model, at ORDER BY model, at
"""  # noqa: S608 - our own words


@dataclass(frozen=True, slots=True)
class Minute:
    """``running`` answers at once on average, and ``tokens_per_s`` of all of them together."""

    at: datetime
    running: float
    tokens_per_s: float


@dataclass(slots=True)
class Load:
    """One model's last hour. First tokens are counted from the asking, in seconds; ``told`` is what
    its engine said of itself, by minute."""

    running: int = 0
    waiting: int = 0
    answered: int = 0
    failed: int = 0
    first_token_p50_s: float | None = None
    first_token_p95_s: float | None = None
    minutes: list[Minute] = field(default_factory=list)
    told: dict[datetime, gauges.Minute] = field(default_factory=dict)

    @property
    def slots(self) -> int | None:
        """How many answers its engine writes at once; None where it did not tell."""
        return max((minute.slots or 0 for minute in self.told.values()), default=0) or None

    @property
    def fullest(self) -> float:
        """The most answers at once, on average over a minute."""
        told = (minute.running or 0.0 for minute in self.told.values())
        return max(*(minute.running for minute in self.minutes), *told, 0.0, 0.0)

    @property
    def tokens_per_s(self) -> float:
        """On average over the time in which anything was written; of a minute with less than one
        answer on average, that share of it."""
        busy = sum(min(1.0, minute.running) for minute in self.minutes)
        return sum(minute.tokens_per_s for minute in self.minutes) / busy if busy else 0.0


def of_the_last_hour() -> dict[UUID, Load]:
    """Language model → its load. A model that nobody asked is missing."""
    loads: dict[UUID, Load] = {}
    with connection.cursor() as cursor:
        cursor.execute(_SUMS)
        for model, *counts in cursor.fetchall():
            running, waiting, answered, failed, p50, p95 = counts
            loads[model] = Load(running, waiting, answered, failed, _seconds(p50), _seconds(p95))
        cursor.execute(_MINUTES, {"last": MINUTES - 1})
        for model, at, running, tokens in cursor.fetchall():
            loads[model].minutes.append(Minute(at, float(running or 0), float(tokens or 0)))
    _add_gauges(loads)
    return loads


def _add_gauges(loads: dict[UUID, Load]) -> None:
    """An engine may be busy with what others than this house ask it."""
    now = timezone.now().replace(second=0, microsecond=0)
    hour = [now - timedelta(minutes=n) for n in reversed(range(MINUTES))]
    for model, told in gauges.since(hour[0]).items():
        load = loads.setdefault(model, Load(minutes=[Minute(at, 0.0, 0.0) for at in hour]))
        load.told = told


def _seconds(value: object) -> float | None:
    return None if value is None else float(value)  # type: ignore[arg-type]  # a number of SQL
