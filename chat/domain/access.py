"""The one door to owned objects. A refusal and a missing id are the same ``Http404``."""

from __future__ import annotations

from uuid import UUID

from django.contrib.auth.models import AnonymousUser
from django.db.models import QuerySet
from django.http import Http404

from accounts.models import User
from chat.models import Conversation, Message

Person = User | AnonymousUser


def conversations_of(user: Person) -> QuerySet[Conversation]:
    """The conversations this person may see: their own, while they are active.

    A deleted branch that can still be brought back is none of them.
    """
    if not isinstance(user, User) or not user.is_active:
        return Conversation.objects.none()
    return Conversation.objects.filter(owner=user, cut_at=None)


def conversation_for(user: Person, conversation_id: UUID) -> Conversation:
    """The conversation, if this person may see it. Raises ``Http404``."""
    found = (
        conversations_of(user).select_related("language_model").filter(pk=conversation_id).first()
    )
    if found is None:
        raise Http404
    return found


def message_for(user: Person, message_id: UUID, *, role: Message.Role | None = None) -> Message:
    """The message, if this person may see its conversation. Raises ``Http404``."""
    found = (
        Message.objects.select_related(
            "conversation__language_model", "conversation__owner", "language_model", "parent"
        )
        .filter(pk=message_id, conversation__in=conversations_of(user))
        .first()
    )
    if found is None or (role and found.role != role):
        raise Http404
    return found


def question_for(user: Person, message_id: UUID) -> Message:
    """The question, if this person may see its conversation. Raises ``Http404``."""
    return message_for(user, message_id, role=Message.Role.USER)


def answer_for(user: Person, message_id: UUID) -> Message:
    """The answer, if this person may see its conversation. Raises ``Http404``."""
    return message_for(user, message_id, role=Message.Role.ASSISTANT)
