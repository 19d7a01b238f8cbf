"""A conversation as a tree of messages. Only ``parent`` is stored; the rest is asked here."""

from __future__ import annotations

from chat.models import Conversation, Message


def leaf(conversation: Conversation) -> Message | None:
    """The newest message: the end of the path a reader sees. ``None`` in an empty conversation."""
    return conversation.messages.order_by("-created_at", "-id").first()


def path(end: Message) -> list[Message]:
    """The messages from the first question to ``end``, oldest first."""
    rows = Message.objects.raw(
        """
        WITH RECURSIVE path AS (
            SELECT m.*, 0 AS depth FROM chat_message m WHERE m.id = %s
            UNION ALL
            SELECT m.*, path.depth + 1 FROM chat_message m JOIN path ON m.id = path.parent_id
        )
        SELECT * FROM path ORDER BY depth DESC
        """,
        [end.pk],
    ).prefetch_related("language_model")
    return list(rows)
