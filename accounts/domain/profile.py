"""What a person changes about themselves: name, language, look, password, and the wish to go."""

from __future__ import annotations

from django.db import transaction
from django.utils import timezone

from accounts import signed_in
from accounts.domain import audit
from accounts.models import User


def change(user: User, *, name: str, language: str, theme: str) -> None:
    """How the person is called, and how pages speak and look to them."""
    with transaction.atomic():
        user.name, user.language, user.theme = name.strip(), language, theme
        user.save(update_fields=["name", "language", "theme"])
        audit.record("profile.changed", actor=user, about=user, language=language, theme=theme)


def change_password(user: User, *, password: str, keeping: str | None) -> None:
    """A new password. Every session but the one with the key ``keeping`` ends."""
    with transaction.atomic():
        user.set_password(password)
        user.save(update_fields=["password"])
        signed_in.end_others(user, keeping=keeping)
        audit.record("person.password_set", actor=user, about=user)


def end_session(user: User, reference: str) -> bool:
    """End the session of ``user`` with this ``reference``. Whether there was one."""
    with transaction.atomic():
        ended = signed_in.end_one(user, reference)
        if ended:
            audit.record("session.ended", actor=user)
    return ended


def end_other_sessions(user: User, *, keeping: str | None) -> int:
    """Sign the person out everywhere but here. How many sessions ended."""
    with transaction.atomic():
        count = signed_in.end_others(user, keeping=keeping)
        audit.record("session.ended", actor=user, others=count)
    return count


def request_deletion(user: User) -> None:
    """Ask the administrators to delete the account. Nothing is deleted by asking."""
    with transaction.atomic():
        asked = User.objects.filter(pk=user.pk, deletion_requested_at=None)
        if asked.update(deletion_requested_at=timezone.now()):
            audit.record("person.deletion_requested", actor=user, about=user)


def withdraw_deletion(user: User) -> None:
    """Take the wish back."""
    with transaction.atomic():
        asked = User.objects.filter(pk=user.pk, deletion_requested_at__isnull=False)
        if asked.update(deletion_requested_at=None):
            audit.record("person.deletion_withdrawn", actor=user, about=user)
