"""What a person thinks of an answer."""

from __future__ import annotations

from django.db import transaction

from accounts.domain import audit
from accounts.models import User
from chat.models import Message


def rate(answer: Message, rating: int, *, reason: str = "", actor: User) -> None:
    """1: good; -1: not good, with a reason or without; 0: take back what was said before."""
    with transaction.atomic():
        answer.rating, answer.rating_reason = rating, reason if rating else ""
        answer.save(update_fields=["rating", "rating_reason"])
        audit.record("answer.rated", actor=actor, about=answer, rating=rating)
