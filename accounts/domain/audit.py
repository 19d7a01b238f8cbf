"""The one way into the ledger. Call it inside the transaction of the act itself."""

from __future__ import annotations

import contextvars
import json
from typing import Final

from django.db import connection, models
from django.utils import timezone

from accounts.models import AuditEntry, User

VERBS: Final = frozenset(
    {
        "answer.rated", "answer.regenerated", "answer.retried", "answer.stopped",
        "branch.deleted", "branch.erased", "branch.restored",
        "conversation.archived", "conversation.deleted", "conversation.erased",
        "conversation.forked", "conversation.model_chosen",
        "conversation.moved", "conversation.pinned",
        "conversation.renamed", "conversation.restored", "conversation.unarchived",
        "conversation.unpinned", "conversations.imported",
        "capacity_test.begun", "capacity_test.stopped",
        "costs.changed",
        "engine.added", "engine.changed", "engine.removed",
        "folder.added", "folder.deleted", "folder.renamed",
        "group.added", "group.deleted", "group.membership_changed", "group.rule_changed",
        "ledger.read",
        "message.asked", "message.edited",
        "model_file.added", "model_file.begun", "model_file.cancelled", "model_file.paused",
        "model_file.refused", "model_file.removed", "model_file.resumed",
        "model.changed", "model.loaded", "model.pinned", "model.unloaded", "model.unpinned",
        "model.version_added", "model.version_approved", "model.version_found",
        "person.activated", "person.added", "person.changed", "person.deactivated",
        "person.data_exported", "person.deletion_requested", "person.deletion_withdrawn",
        "person.link_made", "person.password_set",
        "pool.changed",
        "profile.changed",
        "share.made", "share.read", "share.revoked",
        "session.ended", "session.failed", "session.started",
        "starters.changed",
        "temporary_chat.begun",
    }
)  # fmt: skip

# Written out, since every question waits for it.
_ENTRY: Final = """
    INSERT INTO accounts_auditentry
        (at, actor_id, verb, object_type, object_id, outcome, address, facts)
    VALUES (%s, %s, %s, %s, %s, %s, %s, %s) RETURNING id
"""

address: contextvars.ContextVar[str | None] = contextvars.ContextVar("address", default=None)


def record(
    verb: str,
    *,
    actor: User | None,
    about: models.Model | None = None,
    outcome: str = AuditEntry.Outcome.DONE,
    **facts: str | int | bool | list[str] | None,
) -> AuditEntry:
    """Write one entry. ``facts`` are ids, counts and states, never what people wrote.

    Raises ``ValueError`` for a verb that is not on the closed list.
    """
    if verb not in VERBS:
        raise ValueError(f"{verb} is not a verb of the ledger")
    entry = AuditEntry(
        at=timezone.now(),
        actor_id=actor.pk if actor is not None else None,
        verb=verb,
        object_type=about._meta.model_name or "" if about is not None else "",
        object_id=str(about.pk) if about is not None else "",
        outcome=outcome,
        address=address.get(),
        facts=facts,
    )
    with connection.cursor() as cursor:
        told = [entry.at, entry.actor_id, entry.verb, entry.object_type, entry.object_id,
                entry.outcome, entry.address, json.dumps(facts)]  # fmt: skip
        cursor.execute(_ENTRY, told)
        entry.pk = cursor.fetchone()[0]
    return entry
