"""Read-only links to a conversation as it is now, for colleagues by name or by group."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone

from accounts.domain import audit
from accounts.models import Group, User
from chat.domain import answers, tree
from chat.domain.answers import Reading
from chat.models import Conversation, Message, Share

PAGE: Final = 50


def share(leaf: Message, *, people: Sequence[User], groups: Sequence[Group], actor: User) -> Share:
    """Let them read the path up to ``leaf``: not what is written later, not other branches."""
    with transaction.atomic():
        made = Share.objects.create(leaf=leaf)
        made.people.set(people)
        made.groups.set(groups)
        audit.record(
            "share.made", actor=actor, about=made,
            conversation=str(leaf.conversation_id),
            people=[str(person.pk) for person in people],
            groups=[str(group.pk) for group in groups],
        )  # fmt: skip
    return made


def revoke(share: Share, *, actor: User) -> None:
    """Nobody reads it any more."""
    with transaction.atomic():
        if Share.objects.filter(pk=share.pk, revoked_at=None).update(revoked_at=timezone.now()):
            audit.record("share.revoked", actor=actor, about=share)


def of(conversation: Conversation) -> QuerySet[Share]:
    """The links that are open, the newest first."""
    shares = Share.objects.filter(leaf__conversation=conversation, revoked_at=None)
    return shares.prefetch_related("people", "groups")


def read(share: Share, *, page: int, actor: User) -> tuple[list[Reading], int]:
    """The messages of a page, and how many pages there are; page 1 is the beginning.

    A page beyond the last one is the last. The ledger notes who read what is not their own.
    """
    path = tree.path(share.leaf)
    pages = -(-len(path) // PAGE)
    page = max(1, min(page, pages))
    if share.leaf.conversation.owner_id != actor.pk:
        audit.record("share.read", actor=actor, about=share)
    return answers.read(path[(page - 1) * PAGE : page * PAGE]), pages
