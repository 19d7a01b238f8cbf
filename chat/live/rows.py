"""What the hub asks the database, many answers and sessions at a time."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from django.utils import timezone

from accounts.models import Session
from chat.domain import answers
from chat.markdown import Live, render
from chat.models import Generation, Message

Taken = dict[str, tuple[answers.Reading, Live]]


def take(answer_ids: Iterable[str]) -> Taken:
    """Answers as they stand, their texts rendered. One that is gone is missing."""
    messages = Message.objects.select_related("language_model")
    taken: Taken = {}
    for reading in answers.read(messages.filter(pk__in=list(answer_ids))):
        live = Live()
        if not reading.is_active:
            reading = replace(reading, html=render(reading.text))
        elif reading.text:
            live.feed(reading.text)
        taken[str(reading.message.pk)] = reading, live
    return taken


def active() -> list[tuple[str, str]]:
    """``(conversation, answer)`` of everything that is being written."""
    runs = Generation.objects.filter(state__in=Generation.ACTIVE)
    pairs = runs.values_list("message__conversation_id", "message_id")
    return [(str(conversation), str(answer)) for conversation, answer in pairs]


def living(session_keys: Iterable[str]) -> set[str]:
    """Those of the sessions that have not ended."""
    sessions = Session.objects.filter(
        pk__in=list(session_keys), user__is_active=True, expire_date__gt=timezone.now()
    )
    return set(sessions.values_list("pk", flat=True))
