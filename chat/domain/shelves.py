"""Keeping conversations in order: pinned, in folders, archived; one or many at once."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any
from uuid import UUID

from django.db import transaction
from django.db.models.functions import Now
from django.http import Http404

from accounts.domain import audit
from accounts.models import User
from chat.domain import access
from chat.models import Conversation, Folder


class NameTaken(Exception):
    """This person has a folder of this name already."""


def pin(user: User, ids: Iterable[UUID]) -> None:
    """First in the list, and out of the archive if it was there."""
    with transaction.atomic():
        changed = _change(user, ids, pinned_at=Now(), archived_at=None)
        audit.record("conversation.pinned", actor=user, **named(changed))


def unpin(user: User, ids: Iterable[UUID]) -> None:
    """Back to its place by date."""
    with transaction.atomic():
        changed = _change(user, ids, pinned_at=None)
        audit.record("conversation.unpinned", actor=user, **named(changed))


def archive(user: User, ids: Iterable[UUID]) -> None:
    """Out of the way, and so not pinned; the search still finds it."""
    with transaction.atomic():
        changed = _change(user, ids, archived_at=Now(), pinned_at=None)
        audit.record("conversation.archived", actor=user, **named(changed))


def unarchive(user: User, ids: Iterable[UUID]) -> None:
    """Back in the list."""
    with transaction.atomic():
        changed = _change(user, ids, archived_at=None)
        audit.record("conversation.unarchived", actor=user, **named(changed))


def move(user: User, ids: Iterable[UUID], folder: Folder | None) -> None:
    """Into ``folder``, or out of any."""
    with transaction.atomic():
        changed = _change(user, ids, folder=folder)
        audit.record("conversation.moved", actor=user, **named(changed))


def _change(user: User, ids: Iterable[UUID], **values: Any) -> list[UUID]:
    """Those of ``ids`` that are the person's."""
    found = access.conversations_of(user).filter(pk__in=list(ids))
    changed = list(found.values_list("pk", flat=True))
    found.update(**values)
    return changed


def named(ids: list[UUID]) -> dict[str, Any]:
    """How the one entry of an act names what it was about, one conversation or several."""
    if len(ids) == 1:
        return {"about": Conversation(pk=ids[0])}
    return {"conversations": [str(pk) for pk in ids]}


def folders(user: User) -> list[Folder]:
    """The person's folders by name."""
    return list(Folder.objects.filter(owner=user))


def folder_for(user: User, folder_id: UUID) -> Folder:
    """The person's folder with this id. Raises ``Http404``."""
    found = Folder.objects.filter(owner=user, pk=folder_id).first()
    if found is None:
        raise Http404
    return found


def add_folder(user: User, name: str) -> Folder:
    """A new, empty folder. Raises ``NameTaken``."""
    with transaction.atomic():
        folder, is_new = Folder.objects.get_or_create(owner=user, name=name)
        if not is_new:
            raise NameTaken
        audit.record("folder.added", actor=user, about=folder)
    return folder


def rename_folder(folder: Folder, name: str, *, actor: User) -> None:
    """Another name. Raises ``NameTaken``."""
    with transaction.atomic():
        if Folder.objects.filter(owner=folder.owner_id, name=name).exclude(pk=folder.pk).exists():
            raise NameTaken
        folder.name = name
        folder.save(update_fields=["name"])
        audit.record("folder.renamed", actor=actor, about=folder)


def delete_folder(folder: Folder, *, actor: User) -> None:
    """The folder goes; its conversations stay, in none."""
    with transaction.atomic():
        audit.record("folder.deleted", actor=actor, about=folder)
        folder.delete()
