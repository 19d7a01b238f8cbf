"""A person's conversations: the list, another title, another model, the end."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime, timedelta
from uuid import UUID

from django.db import transaction
from django.http import Http404
from django.utils import timezone
from django.utils.translation import gettext as _

from accounts.domain import audit
from accounts.models import User
from chat import events
from chat.domain import access, titles
from chat.models import Conversation, LanguageModel

SIDEBAR_SIZE = 100
PINNED_MOST = 50


@dataclass(frozen=True, slots=True)
class Section:
    """Conversations last used in the same span of time."""

    name: str
    conversations: list[Conversation]


def sections(user: User, *, limit: int = SIDEBAR_SIZE) -> list[Section]:
    """What is pinned, then the newest, grouped by when they were last used.

    What lies in a folder or in the archive is found there.
    """
    today = timezone.localdate()
    shown = access.conversations_of(user).filter(archived_at=None)
    pinned = list(shown.filter(pinned_at__isnull=False).order_by("-pinned_at")[:PINNED_MOST])
    groups: dict[str, list[Conversation]] = {_("Pinned"): pinned} if pinned else {}
    newest = shown.filter(pinned_at=None, folder=None).order_by("-updated_at")
    for conversation in newest[:limit]:
        day = timezone.localdate(conversation.updated_at)
        groups.setdefault(_span(day, today), []).append(conversation)
    return [Section(name, found) for name, found in groups.items()]


def _span(day: date, today: date) -> str:
    if day >= today:
        return _("Today")
    if day == today - timedelta(days=1):
        return _("Yesterday")
    if day > today - timedelta(days=7):
        return _("Last 7 days")
    if day > today - timedelta(days=30):
        return _("Last 30 days")
    return _("Earlier")


def lock(conversation_id: UUID) -> Conversation:
    """Take the row until the transaction ends: changes of one tree come one after the other.

    Raises ``Http404`` when the conversation is gone.
    """
    rows = Conversation.objects.raw(
        "SELECT * FROM chat_conversation WHERE id = %s FOR UPDATE", [conversation_id]
    )
    for found in rows:
        return found
    raise Http404


def touch(conversation: Conversation, *, at: datetime) -> None:
    """It was used: it comes first in the list."""
    Conversation.objects.filter(pk=conversation.pk).update(updated_at=at)


def rename(conversation: Conversation, title: str, *, actor: User) -> None:
    """The person's own title; no model changes it any more."""
    with transaction.atomic():
        conversation.title = titles.tidy(title)
        conversation.titled_by = Conversation.TitledBy.PERSON
        conversation.title_due = False
        conversation.save(update_fields=["title", "titled_by", "title_due"])
        audit.record("conversation.renamed", actor=actor, about=conversation)
        events.tell_on_commit(
            events.Titled(owner=str(conversation.owner_id), conversation=str(conversation.pk))
        )


def choose_model(conversation: Conversation, model: LanguageModel, *, actor: User) -> None:
    """The model that answers from the next question on."""
    with transaction.atomic():
        conversation.language_model = model
        conversation.save(update_fields=["language_model"])
        audit.record(
            "conversation.model_chosen", actor=actor, about=conversation, model=str(model.pk)
        )
