"""Who may do what in the organisation. Every question about rights is asked here."""

from __future__ import annotations

from django.contrib.auth.models import AnonymousUser

from accounts.models import User


def may_manage_people(user: User | AnonymousUser) -> bool:
    """Add, change and deactivate people and groups. It opens nobody's conversations."""
    return isinstance(user, User) and user.is_active and user.is_administrator


def may_manage_models(user: User | AnonymousUser) -> bool:
    """Add engines, and say which models there are and for whom. It opens no conversations."""
    return isinstance(user, User) and user.is_active and user.manages_models


def may_keep_chats(user: User) -> bool:
    """Have conversations that are stored. One group with temporary chats only is enough for no."""
    told: bool | None = getattr(user, "temporary_only", None)  # read with the person of a request
    if told is None:
        told = user.groups.filter(temporary_only=True).exists()
    return not told
