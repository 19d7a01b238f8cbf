"""A new conversation that begins as another one went up to a certain answer."""

from __future__ import annotations

from typing import Final
from uuid import UUID

from django.db import IntegrityError, connection, transaction
from django.http import Http404
from django.utils import timezone
from django.utils.translation import gettext as _

from accounts.domain import audit
from accounts.models import User
from chat.domain import keeping, titles
from chat.models import Conversation, Message

_NEW: Final = {"id": "copy.new_id", "conversation_id": "%(conversation)s", "parent_id": "up.new_id"}
_COPY: Final = """
    WITH RECURSIVE way AS (
        SELECT id, parent_id FROM chat_message WHERE id = %(end)s
        UNION ALL
        SELECT m.id, m.parent_id FROM way JOIN chat_message m ON m.id = way.parent_id
    ),
    copy AS MATERIALIZED (SELECT id, parent_id, gen_random_uuid() AS new_id FROM way)
    INSERT INTO chat_message ({columns})
    SELECT {values}
    FROM copy JOIN chat_message m ON m.id = copy.id LEFT JOIN copy up ON up.id = copy.parent_id
"""


def fork(answer: Message, *, conversation_id: UUID, actor: User) -> Conversation:
    """Copy the path up to ``answer``, under new ids, with the model of the conversation.

    ``conversation_id`` is made by the page, so that the same post twice is one conversation.
    Raises ``Http404`` when the id is somebody else's, and ``keeping.TemporaryOnly``. The runs of
    the answers are not copied: they happened once.
    """
    keeping.check(actor)
    try:
        with transaction.atomic():
            return _already_there(conversation_id, actor) or _fork(answer, conversation_id, actor)
    except IntegrityError:
        # The same post came twice at the same moment, and the other one was recorded.
        repeated = _already_there(conversation_id, actor)
        if repeated is None:
            raise
        return repeated


def _fork(answer: Message, conversation_id: UUID, actor: User) -> Conversation:
    origin = answer.conversation
    made = Conversation.objects.create(
        id=conversation_id,
        owner=actor,
        title=titles.tidy(_("%(title)s (copy)") % {"title": origin.title}),
        titled_by=origin.titled_by,
        title_due=False,
        language_model=origin.language_model,
        updated_at=timezone.now(),
    )
    copied = _copy(answer, made)
    audit.record(
        "conversation.forked", actor=actor, about=made, origin=str(origin.pk), messages=copied
    )
    return made


def _copy(end: Message, into: Conversation) -> int:
    """One statement; the texts do not leave the database. Returns how many messages it copied."""
    columns = [str(field.column) for field in Message._meta.concrete_fields]
    values = ", ".join(_NEW.get(column, f"m.{column}") for column in columns)
    with connection.cursor() as cursor:
        cursor.execute(
            _COPY.format(columns=", ".join(columns), values=values),
            {"end": end.pk, "conversation": into.pk},
        )
        return int(cursor.rowcount)


def _already_there(conversation_id: UUID, actor: User) -> Conversation | None:
    found = Conversation.objects.filter(pk=conversation_id).first()
    if found and found.owner_id != actor.pk:
        raise Http404
    return found
