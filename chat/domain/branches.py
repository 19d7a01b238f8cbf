"""The end of a branch: a question or an answer, with everything that was said after it."""

from __future__ import annotations

from dataclasses import dataclass

from django.db import transaction
from django.http import Http404

from accounts.domain import audit
from accounts.models import User
from chat.domain import conversations, generations, tree
from chat.models import Generation, Message


@dataclass(frozen=True, slots=True)
class Branch:
    """What goes when ``top`` goes: ``size`` messages. ``is_all`` when nothing else would stay."""

    top: Message
    size: int
    is_all: bool


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


def delete(message: Message, *, actor: User) -> Message | None:
    """Delete the branch for good; answers being written in it are stopped first.

    Returns the message that a reader sees next: the newest version beside it, else the one before
    it. ``None`` when the conversation is empty now. Raises ``Http404`` when it is gone already.
    """
    with transaction.atomic():
        conversations.lock(message.conversation_id)
        found = Message.objects.select_related("parent").filter(pk=message.pk).first()
        if found is None:
            raise Http404
        top = of(found).top
        others = [pk for pk in tree.siblings([top])[top.pk] if pk != top.pk]
        ids = tree.branch(top)
        generations.hold(Message.objects.filter(pk__in=ids))
        running = Message.objects.filter(pk__in=ids, generations__state__in=Generation.ACTIVE)
        for answer in running:
            generations.stop(answer, actor=actor)
        audit.record("branch.deleted", actor=actor, about=top, messages=len(ids))
        Message.objects.filter(pk__in=ids).delete()
        shown = others[-1] if others else top.parent_id
        return Message.objects.filter(pk=shown).first() if shown else None
