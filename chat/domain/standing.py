"""Places in line as they were last told, kept for pages that read them instead of hearing them."""

from __future__ import annotations

from collections.abc import Mapping

from django.db import connection

Stand = tuple[int, int | None]


def keep(stands: Mapping[str, Stand]) -> None:
    """Store the place of each of these answers, and the seconds until its turn, if known.

    Two runners may tell of the same queue. What somebody else holds just now is left out: it is
    told again as soon as it changes.
    """
    rows = [(answer, ahead, seconds) for answer, (ahead, seconds) in stands.items()]
    answers, places, times = (list(column) for column in zip(*rows, strict=True))
    with connection.cursor() as cursor:
        cursor.execute(
            """
            WITH told AS (
                SELECT g.id, t.ahead, t.wait_s
                FROM unnest(%s::uuid[], %s::int[], %s::int[]) AS t (answer, ahead, wait_s)
                JOIN chat_generation g ON g.message_id = t.answer
                    AND g.state IN ('queued', 'running')
                FOR NO KEY UPDATE OF g SKIP LOCKED
            )
            UPDATE chat_generation g SET ahead = told.ahead, wait_s = told.wait_s
            FROM told WHERE g.id = told.id
            """,
            [answers, places, times],
        )
