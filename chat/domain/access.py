"""The one door to owned objects. A refusal and a missing id are the same ``Http404``."""

from __future__ import annotations

from uuid import UUID

from django.contrib.auth.models import AnonymousUser
from django.db.models import Q, QuerySet
from django.http import Http404

from accounts.models import User
from chat.domain import tree
from chat.models import Conversation, Message, Share

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


def leaf_for(user: Person, conversation: Conversation, at: str) -> Message | None:
    """The message of this conversation that an address names by ``at``, else its newest.

    ``None`` in an empty conversation. Raises ``Http404`` for a message of another one.
    """
    if not at:
        return tree.leaf(conversation)
    try:
        found = message_for(user, UUID(at))
    except ValueError:
        raise Http404 from None
    if found.conversation_id != conversation.pk:
        raise Http404
    return found


def share_for(user: Person, share_id: UUID) -> Share:
    """What was shared with this person, or what they shared. Raises ``Http404``.

    Asked anew at each reading: who left the group, and a link that was revoked, see nothing.
    """
    if not isinstance(user, User) or not user.is_active:
        raise Http404
    theirs = Q(leaf__conversation__owner=user)
    given = Q(people=user) | Q(groups__people=user)
    found = (
        Share.objects.select_related("leaf__conversation__owner")
        .filter(theirs | given, pk=share_id, revoked_at=None, leaf__conversation__cut_at=None)
        .distinct()
        .first()
    )
    if found is None:
        raise Http404
    return found


def own_share_for(user: Person, share_id: UUID) -> Share:
    """A link that this person made, revoked or not. Raises ``Http404``."""
    found = (
        Share.objects.filter(pk=share_id, leaf__conversation__in=conversations_of(user))
        .select_related("leaf")
        .first()
    )
    if found is None:
        raise Http404
    return found
