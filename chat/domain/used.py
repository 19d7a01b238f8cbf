"""Who used a model when, and what administrators did with it. Never a word of what was said.

Of people there is no more than how many; below ``usage.LEAST_PEOPLE`` not even that.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from django.db import connection, transaction
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from accounts.domain import audit
from accounts.models import AuditEntry, User
from chat.domain.usage import LEAST_PEOPLE
from chat.models import LanguageModel

DAYS: Final = 30
_MOST: Final = 50

_RUNS: Final = """
    FROM chat_generation g
    JOIN chat_message m ON m.id = g.message_id
    JOIN chat_conversation c ON c.id = m.conversation_id
"""
_COUNTED: Final = """
    count(*), count(DISTINCT c.owner_id),
    coalesce(sum(g.prompt_tokens), 0), coalesce(sum(g.completion_tokens), 0)
"""
_WHICH: Final = """
    m.language_model_id = %(model)s AND g.created_at > now() - make_interval(days => %(days)s)
"""
_LAST: Final = f"SELECT max(g.created_at) {_RUNS} WHERE m.language_model_id = %(model)s"
_DAYS: Final = f"""
    SELECT (g.created_at AT TIME ZONE %(zone)s)::date, {_COUNTED} {_RUNS}
    WHERE {_WHICH} GROUP BY 1 ORDER BY 1 DESC
"""
# Somebody of two groups counts in both.
_GROUPS: Final = f"""
    SELECT o.name, {_COUNTED} {_RUNS}
    JOIN accounts_user_groups u ON u.user_id = c.owner_id
    JOIN accounts_group o ON o.id = u.group_id
    WHERE {_WHICH} GROUP BY o.id, o.name
    HAVING count(DISTINCT c.owner_id) >= %(least)s ORDER BY 2 DESC, 1
"""
_SAID: Final[dict[str, str | Promise]] = {
    "model.changed": _("Changed"),
    "model.loaded": _("Loaded into memory"),
    "model.pinned": _("Pinned in memory"),
    "model.unloaded": _("Unloaded from memory"),
    "model.unpinned": _("No longer pinned in memory"),
    "model.version_added": _("A file was added as a version"),
    "model.version_approved": _("A version was approved"),
    "model.version_found": _("A file was found that was not seen before"),
    "capacity_test.begun": _("A capacity test was begun"),
    "capacity_test.stopped": _("A capacity test was stopped"),
}


@dataclass(frozen=True, slots=True)
class Row:
    """``label`` is a day or a group."""

    label: Any
    answers: int
    people: int
    read_tokens: int
    written_tokens: int

    @property
    def may_count_people(self) -> bool:
        """Whether so many people tell nothing of one of them."""
        return self.people >= LEAST_PEOPLE


@dataclass(frozen=True, slots=True)
class Used:
    """The last ``DAYS`` days, the newest first. ``last_at`` is of all time, None for never."""

    last_at: datetime | None
    days: Sequence[Row]
    groups: Sequence[Row]


@dataclass(frozen=True, slots=True)
class Act:
    """Something that happened to a model. ``who`` is empty where nobody did it."""

    at: datetime
    said: str | Promise
    who: str
    name: str
    sha256: str
    instead_of: str


def lately(language_model: LanguageModel, *, zone: str) -> Used:
    """Days of ``zone``. Temporary chats are not counted: nothing is stored of them."""
    told: dict[str, Any] = {
        "model": language_model.pk,
        "zone": zone,
        "days": DAYS,
        "least": LEAST_PEOPLE,
    }
    with connection.cursor() as cursor:
        cursor.execute(_LAST, told)
        last_at = cursor.fetchone()[0]
        days, groups = (_rows(cursor, statement, told) for statement in (_DAYS, _GROUPS))
    return Used(last_at, days, groups)


def history(language_model: LanguageModel, *, actor: User) -> list[Act]:
    """The newest acts first, of the ledger, in which it is noted that ``actor`` read them. Who
    began a temporary chat with it is none of them."""
    with transaction.atomic():
        audit.record("ledger.read", actor=actor, about=language_model)
    entries = AuditEntry.objects.filter(
        object_type="languagemodel", object_id=str(language_model.pk), verb__in=_SAID
    ).order_by("-pk")[:_MOST]
    found = list(entries)
    names = {user.pk: user.name for user in User.objects.filter(pk__in=[e.actor_id for e in found])}
    return [
        Act(
            entry.at,
            _SAID[entry.verb],
            names.get(entry.actor_id, "") if entry.actor_id else "",
            *(str(entry.facts.get(fact) or "") for fact in ("name", "sha256", "instead_of")),
        )
        for entry in found
    ]


def _rows(cursor: Any, statement: str, told: dict[str, Any]) -> list[Row]:
    cursor.execute(statement, told)
    return [Row(*row) for row in cursor.fetchall()]
