"""A conversation as a tree of messages. Only ``parent`` is stored; the rest is asked here.

A message is always newer than its parent, so the newest message of any branch is its end.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from uuid import UUID

from django.db import connection

from chat.models import Conversation, Message

# The walk goes over ids alone; texts are read for the messages that are wanted and for no other.
_UP = """
    WITH RECURSIVE way AS (
        SELECT id, parent_id, 1 AS step, octet_length(text)::bigint AS bytes
        FROM chat_message WHERE id = %(end)s
        UNION ALL
        SELECT m.id, m.parent_id, way.step + 1, way.bytes + octet_length(m.text)
        FROM way JOIN chat_message m ON m.id = way.parent_id
        WHERE (%(limit)s::int IS NULL OR way.step < %(limit)s)
          AND (%(bytes)s::bigint IS NULL OR way.bytes <= %(bytes)s)
    )
    SELECT {columns} FROM way JOIN chat_message m USING (id) ORDER BY way.step DESC
"""
_DOWN = """
    WITH RECURSIVE way AS (
        SELECT id, parent_id, 1 AS step FROM chat_message WHERE id = %(end)s AND id <> %(top)s
        UNION ALL
        SELECT m.id, m.parent_id, way.step + 1
        FROM way JOIN chat_message m ON m.id = way.parent_id
        WHERE m.id <> %(top)s
    ),
    upper AS (SELECT id, step FROM way ORDER BY step DESC LIMIT %(limit)s)
    SELECT {columns} FROM upper JOIN chat_message m USING (id) ORDER BY upper.step DESC
"""
_BELOW = """
    WITH RECURSIVE below AS (
        SELECT id, created_at FROM chat_message WHERE id = %(top)s
        UNION ALL
        SELECT m.id, m.created_at FROM below JOIN chat_message m ON m.parent_id = below.id
    )
    SELECT id FROM below ORDER BY created_at DESC, id DESC
"""
_FAMILIES = """
    SELECT id, parent_id, conversation_id FROM chat_message
    WHERE parent_id = ANY (%(parents)s::uuid[])
       OR parent_id IS NULL AND conversation_id = ANY (%(roots)s::uuid[])
    ORDER BY created_at, id
"""


def leaf(conversation: Conversation) -> Message | None:
    """The newest message: the end of the path a reader sees. ``None`` in an empty conversation."""
    return conversation.messages.order_by("-created_at", "-id").first()


def leaf_below(top: Message) -> Message:
    """The newest message of the branch that begins with ``top``."""
    return Message.objects.get(pk=_below(top, first=True)[0])


def branch(top: Message) -> list[UUID]:
    """The ids of ``top`` and everything below it, newest first."""
    return _below(top)


def path(
    end: Message,
    *,
    limit: int | None = None,
    most_bytes: int | None = None,
    with_models: bool = True,
) -> list[Message]:
    """The messages from the first question to ``end``, oldest first, with the models that wrote.

    Of a longer path only its last ``limit`` messages, or those that are needed to exceed
    ``most_bytes`` of text.
    """
    rows = Message.objects.raw(_written(_UP), {"end": end.pk, "limit": limit, "bytes": most_bytes})
    return list(rows.prefetch_related("language_model") if with_models else rows)


def descent(top: Message, end: Message, *, limit: int) -> list[Message]:
    """The first ``limit`` messages after ``top`` on the way down to ``end``.

    Nothing when the way does not lead there.
    """
    rows = Message.objects.raw(_written(_DOWN), {"top": top.pk, "end": end.pk, "limit": limit})
    found = list(rows.prefetch_related("language_model"))
    return found if found and found[0].parent_id == top.pk else []


def siblings(messages: Iterable[Message]) -> dict[UUID, tuple[UUID, ...]]:
    """Message → the ids of all versions of it, itself among them, oldest first. One query."""
    messages = list(messages)
    parents = list({m.parent_id for m in messages if m.parent_id})
    roots = list({m.conversation_id for m in messages if not m.parent_id})
    families: dict[object, list[UUID]] = {}
    with connection.cursor() as cursor:
        cursor.execute(_FAMILIES, {"parents": parents, "roots": roots})
        for pk, parent, conversation in cursor.fetchall():
            families.setdefault(parent or conversation, []).append(pk)
    return {m.pk: tuple(families.get(m.parent_id or m.conversation_id, ())) for m in messages}


@cache
def _written(statement: str) -> str:
    """Without what the models thought, which is often longer than all else and seldom looked at:
    it is read where a message is asked for it."""
    columns = [field.column for field in Message._meta.concrete_fields]
    columns.remove("reasoning")
    return statement.format(columns=", ".join(f"m.{column}" for column in columns))


def _below(top: Message, *, first: bool = False) -> list[UUID]:
    with connection.cursor() as cursor:
        cursor.execute(_BELOW + (" LIMIT 1" if first else ""), {"top": top.pk})
        return [row[0] for row in cursor.fetchall()]
