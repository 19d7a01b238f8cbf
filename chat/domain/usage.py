"""What was read and written: by day, by model, by group. Nobody is named, and no small group."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any, Final

from django.db import connection
from django.utils.translation import get_language

LEAST_PEOPLE: Final = 5  # where fewer of a group asked, its row would tell what one of them does

_COUNTED: Final = """
    count(*), coalesce(sum(g.prompt_tokens), 0), coalesce(sum(g.completion_tokens), 0)
    FROM chat_generation g
    JOIN chat_message m ON m.id = g.message_id
    JOIN chat_conversation c ON c.id = m.conversation_id
"""
_WHEN: Final = """
    g.created_at >= %(first)s::date::timestamp AT TIME ZONE %(zone)s
    AND g.created_at < (%(last)s::date + 1)::timestamp AT TIME ZONE %(zone)s
"""
_DAYS: Final = f"""
    SELECT (g.created_at AT TIME ZONE %(zone)s)::date, {_COUNTED}
    WHERE {_WHEN} GROUP BY 1 ORDER BY 1
"""
_NAME: Final = """
    coalesce(CASE WHEN %(turkish)s THEN nullif(l.display_name_tr, '') END, l.display_name)
"""
_MODELS: Final = f"""
    SELECT {_NAME}, {_COUNTED} JOIN chat_languagemodel l ON l.id = m.language_model_id
    WHERE {_WHEN} GROUP BY l.id, 1 ORDER BY 4 DESC, 1
"""
# Somebody of two groups counts in both: these rows add up to more than the whole.
_GROUPS: Final = f"""
    SELECT o.name, {_COUNTED}
    JOIN accounts_user_groups u ON u.user_id = c.owner_id
    JOIN accounts_group o ON o.id = u.group_id
    WHERE {_WHEN} GROUP BY o.id, o.name
    HAVING count(DISTINCT c.owner_id) >= %(least)s ORDER BY 4 DESC, 1
"""


@dataclass(frozen=True, slots=True)
class Row:
    """``label`` is a day or a name; tokens as the engines counted them."""

    label: Any
    answers: int
    read_tokens: int
    written_tokens: int


@dataclass(frozen=True, slots=True)
class Usage:
    """From ``first`` to ``last``, both included."""

    first: date
    last: date
    days: Sequence[Row]
    models: Sequence[Row]
    groups: Sequence[Row]

    @property
    def whole(self) -> Row:
        """All days together."""
        return Row(
            "",
            sum(day.answers for day in self.days),
            sum(day.read_tokens for day in self.days),
            sum(day.written_tokens for day in self.days),
        )


def between(first: date, last: date, *, zone: str) -> Usage:
    """Every answer that was asked for in these days of ``zone``, also one that did not end well:
    its tokens were computed."""
    turkish = (get_language() or "").startswith("tr")
    told = {
        "first": first, "last": last, "zone": zone, "least": LEAST_PEOPLE, "turkish": turkish,
    }  # fmt: skip
    return Usage(first, last, *(_rows(statement, told) for statement in (_DAYS, _MODELS, _GROUPS)))


def _rows(statement: str, told: dict[str, Any]) -> list[Row]:
    with connection.cursor() as cursor:
        cursor.execute(statement, told)
        return [Row(*row) for row in cursor.fetchall()]
