"""The end of a branch: a question or an answer, with everything that was said after it.

Deleted is out of sight at once, can be brought back for ``UNDO``, and is erased after that.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import Final
from uuid import UUID

from django.db import transaction
from django.db.models import F, Q, QuerySet
from django.db.models.functions import Now
from django.http import Http404

from accounts.domain import audit
from accounts.models import User
from chat.domain import conversations, generations, tree
from chat.models import Conversation, Generation, Message

UNDO: Final = timedelta(seconds=60)
# A form that was sent in the last moment is still on its way.
ON_THE_WAY: Final = timedelta(seconds=5)


class Erased(Exception):
    """There is nothing left of the branch to bring back."""


@dataclass(frozen=True, slots=True)
class Branch:
    """What goes when ``top`` goes: ``size`` messages. ``is_all`` when nothing else would stay."""

    top: Message
    size: int
    is_all: bool


@dataclass(frozen=True, slots=True)
class Cut:
    """What a deletion left: the message that a reader sees next, and what can be brought back.

    ``shown`` is the newest version beside the branch, else the message before it; ``None`` when the
    conversation is empty now.
    """

    shown: Message | None
    branch: Conversation


def of(message: Message) -> Branch:
    """The branch that ``message`` stands for.

    The only answer to a question is no branch of its own: a question nobody answers is nothing to
    keep, so its question goes with it.
    """
    versions = tree.siblings([message])[message.pk]
    parent = message.parent
    if message.role == Message.Role.ASSISTANT and len(versions) == 1 and parent is not None:
        return of(parent)
    is_all = message.parent_id is None and len(versions) == 1
    return Branch(message, len(tree.branch(message)), is_all)


def delete(message: Message, *, actor: User) -> Cut:
    """Delete the branch; answers being written in it are stopped first.

    Raises ``Http404`` when the message is gone already.
    """
    with transaction.atomic():
        origin = conversations.lock(message.conversation_id)
        found = origin.messages.select_related("parent").filter(pk=message.pk).first()
        if found is None:
            raise Http404
        top = of(found).top
        ids = tree.branch(top)
        _stop(ids, actor=actor)
        others = [pk for pk in tree.siblings([top])[top.pk] if pk != top.pk]
        audit.record("branch.deleted", actor=actor, about=top, messages=len(ids))
        cut = _cut(origin, top, ids)
        shown = others[-1] if others else top.parent_id
        return Cut(Message.objects.filter(pk=shown).first() if shown else None, cut)


def _stop(ids: list[UUID], *, actor: User) -> None:
    messages = Message.objects.filter(pk__in=ids)
    generations.hold(messages)
    for answer in messages.filter(generations__state__in=Generation.ACTIVE):
        generations.stop(answer, actor=actor)


def _cut(origin: Conversation, top: Message, ids: list[UUID]) -> Conversation:
    """Move the messages to a conversation that nobody sees. It has no title: that is text too."""
    cut = Conversation.objects.create(
        owner_id=origin.owner_id,
        title_due=False,
        language_model_id=origin.language_model_id,
        updated_at=origin.updated_at,
        cut_from=origin,
        cut_below_id=top.parent_id,
        cut_at=Now(),
    )
    Message.objects.filter(pk=top.pk).update(parent=None)
    Message.objects.filter(pk__in=ids).update(conversation=cut)
    return cut


def restorable(conversation: Conversation) -> Conversation | None:
    """The branch of this conversation that was deleted last, while it can be brought back."""
    return _in_place(conversation).filter(cut_at__gt=Now() - UNDO).order_by("-cut_at").first()


def restore(conversation: Conversation, branch_id: UUID, *, actor: User) -> Message:
    """Put a deleted branch back where it stood; returns the message that it begins with.

    Raises ``Erased`` when it is too late, or its place was deleted meanwhile.
    """
    with transaction.atomic():
        conversation = conversations.lock(conversation.pk)
        late = UNDO + ON_THE_WAY
        cuts = _in_place(conversation).filter(pk=branch_id, cut_at__gt=Now() - late)
        cut = cuts.select_for_update(of=("self",)).first()
        top = cut.messages.filter(parent=None).first() if cut else None
        if cut is None or top is None:
            raise Erased
        moved = cut.messages.update(conversation=conversation)
        top.conversation, top.parent_id = conversation, cut.cut_below_id
        top.save(update_fields=["parent"])
        audit.record("branch.restored", actor=actor, about=top, messages=moved)
        Conversation.objects.filter(pk=cut.pk).delete()
        return top


def _in_place(conversation: Conversation) -> QuerySet[Conversation]:
    """Its deleted branches, but for those whose own place is deleted too."""
    there = Q(cut_below=None) | Q(cut_below__conversation=F("cut_from"))
    return Conversation.objects.filter(there, cut_from=conversation)


def erase() -> int:
    """End for good what nobody can bring back any more, whole conversations too. How many."""
    due = Conversation.objects.filter(cut_at__lt=Now() - UNDO - ON_THE_WAY)
    erased = 0
    for pk in due.values_list("pk", flat=True):
        with transaction.atomic():
            cut = due.filter(pk=pk).select_for_update(skip_locked=True, of=("self",)).first()
            if cut is not None:
                its = Q(conversation=cut) | Q(conversation__cut_from=cut)
                generations.hold(Message.objects.filter(its))
                count = cut.messages.count()
                if cut.cut_from_id:
                    audit.record("branch.erased", actor=None, about=cut, messages=count)
                else:
                    audit.record("conversation.erased", actor=None, about=cut, messages=count)
                cut.delete()
                erased += 1
    return erased
