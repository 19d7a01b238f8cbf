"""Temporary chats: nothing of them is stored. That one was begun is noted, without a word of it."""

from __future__ import annotations

from django.db import transaction

from accounts.domain import audit
from accounts.models import User
from chat.models import LanguageModel


def begin(user: User, language_model: LanguageModel) -> None:
    """Note who began one, when, and with which model."""
    with transaction.atomic():
        audit.record("temporary_chat.begun", actor=user, about=language_model)
