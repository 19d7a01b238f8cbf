"""The end of whole conversations: out of sight at once, gone for good a minute later."""

from __future__ import annotations

from collections.abc import Iterable
from uuid import UUID

from django.db import transaction
from django.db.models.functions import Now

from accounts.domain import audit
from accounts.models import User
from chat.domain import access, branches, generations, shelves
from chat.models import Conversation, Generation, Message


def remove(user: User, ids: Iterable[UUID]) -> list[UUID]:
    """Delete those of the person's conversations; what is being written there is stopped.

    Returns the ids that went. They can be brought back for ``branches.UNDO``.
    """
    with transaction.atomic():
        found = access.conversations_of(user).filter(pk__in=list(ids)).select_for_update()
        gone = list(found.values_list("pk", flat=True))
        messages = Message.objects.filter(conversation__in=gone)
        generations.hold(messages)
        for answer in messages.filter(generations__state__in=Generation.ACTIVE):
            generations.stop(answer, actor=user)
        Conversation.objects.filter(pk__in=gone).update(cut_at=Now())
        audit.record("conversation.deleted", actor=user, **shelves.named(gone))
    return gone


def bring_back(user: User, ids: Iterable[UUID]) -> int:
    """Undo a deletion as long as it can be undone. How many came back."""
    late = branches.UNDO + branches.ON_THE_WAY
    with transaction.atomic():
        found = Conversation.objects.filter(
            pk__in=list(ids), owner=user, cut_from=None, cut_at__gt=Now() - late
        )
        back = list(found.select_for_update().values_list("pk", flat=True))
        Conversation.objects.filter(pk__in=back).update(cut_at=None)
        audit.record("conversation.restored", actor=user, **shelves.named(back))
    return len(back)
