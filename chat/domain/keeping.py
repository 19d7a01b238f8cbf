"""The one door to storing what people ask: whose group has temporary chats only stores nothing."""

from __future__ import annotations

from django.core.exceptions import PermissionDenied
from django.utils.translation import gettext as _

from accounts.domain import policies
from accounts.models import User


class TemporaryOnly(PermissionDenied):
    """This person stores no new conversation. The message is a sentence for them."""


def check(user: User) -> None:
    """Asked by every verb that would store a question, an answer or a copy of one.

    Raises ``TemporaryOnly``.
    """
    if not policies.may_keep_chats(user):
        raise TemporaryOnly(
            _(
                "Your group has temporary chats only, so nothing new is stored."
                " What you already have can still be read."
            )
        )
