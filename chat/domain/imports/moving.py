"""Conversations from elsewhere become rows: all of a file in one transaction, each only once."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final
from uuid import UUID, uuid5

from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from accounts.domain import audit
from accounts.models import User
from chat.domain import keeping, removal, titles
from chat.domain.imports.foreign import Malformed, Said, Talk, grown
from chat.domain.imports.reading import Found
from chat.models import Conversation, LanguageModel, Message

_NAMESPACE: Final = UUID("6b1f0a52-6f0e-4c0f-9d0c-0d4a3f6f2c11")
_A_MOMENT: Final = timedelta(microseconds=1)
_ROWS_AT_ONCE: Final = 1000


@dataclass(slots=True)
class Report:
    """What came in and what did not."""

    source: str
    conversations: int = 0
    messages: int = 0
    already_here: int = 0
    empty: int = 0
    broken: int = 0
    left_out: int = 0
    attachments: int = 0


def move_in(found: Found, user: User, language_model: LanguageModel) -> Report:
    """Store what was read for ``user``; questions asked there later go to ``language_model``.

    What came with an earlier file is left as it is, and brought back where it was just deleted.
    Nothing is stored where anything fails. Raises ``keeping.TemporaryOnly``.
    """
    keeping.check(user)
    report = Report(found.source, broken=len(found.broken))
    with transaction.atomic():
        here = _already_here(found, user)
        for talk in found.talks:
            if _id_of(found, talk, user) in here:
                report.already_here += 1
            else:
                here.add(_move(found, talk, user, language_model, report))
        audit.record(
            "conversations.imported", actor=user, source=found.source,
            conversations=report.conversations, messages=report.messages,
        )  # fmt: skip
    return report


def _id_of(found: Found, talk: Talk, user: User) -> UUID:
    """Always the same for the same conversation of the same person."""
    first = talk.said[0] if talk.said else None
    key = talk.key or f"{talk.title} {talk.at} {first and first.key}"
    return uuid5(_NAMESPACE, f"{user.pk} {found.source} {key}")


def _already_here(found: Found, user: User) -> set[UUID]:
    ids = [_id_of(found, talk, user) for talk in found.talks]
    here = Conversation.objects.filter(pk__in=ids)
    if deleted := list(here.exclude(cut_at=None).values_list("pk", flat=True)):
        removal.bring_back(user, deleted)
    return set(here.values_list("pk", flat=True))


def _move(
    found: Found, talk: Talk, user: User, language_model: LanguageModel, report: Report
) -> UUID:
    conversation_id = _id_of(found, talk, user)
    try:
        said = grown(talk)
    except Malformed:
        report.broken += 1
        return conversation_id
    report.left_out += talk.left_out
    report.attachments += talk.attachments
    if not said:
        report.empty += 1
        return conversation_id
    messages = _messages(said, conversation_id, talk.at or timezone.now())
    newest = max(message.created_at for message in messages)
    Conversation.objects.create(
        id=conversation_id,
        owner=user,
        title=titles.tidy(talk.title) or titles.first_words(said[0].text) or _("Imported"),
        titled_by=Conversation.TitledBy.PERSON,
        title_due=False,
        language_model=language_model,
        updated_at=min(talk.used_at or newest, timezone.now()),
    )
    Conversation.objects.filter(pk=conversation_id).update(created_at=messages[0].created_at)
    Message.objects.bulk_create(messages, batch_size=_ROWS_AT_ONCE)
    report.conversations += 1
    report.messages += len(messages)
    return conversation_id


def _messages(said: list[Said], conversation_id: UUID, began: datetime) -> list[Message]:
    """Rows, each newer than its parent and than the version before it: so their order is told."""
    made: dict[str, Message] = {}
    newest: dict[str, datetime] = {}  # of the versions, by the key of their parent
    for each in said:
        before, versions = made.get(each.parent or ""), each.parent or ""
        after = max(
            (at for at in (before and before.created_at, newest.get(versions)) if at), default=None
        )
        at = min(each.at or after or began, timezone.now())
        newest[versions] = max(at, after + _A_MOMENT) if after else at
        made[each.key] = Message(
            id=uuid5(conversation_id, each.key),
            conversation_id=conversation_id,
            parent=before,
            role=each.role,
            text=each.text or _("(a picture or file that did not come along)"),
            written_by=each.model if each.role == Message.Role.ASSISTANT else "",
            reasoning=each.reasoning,
            reasoned_ms=each.reasoned_ms if each.reasoning else None,
            created_at=newest[versions],
        )
    return list(made.values())
