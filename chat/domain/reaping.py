"""Ends the runs that nobody will: those of dead runners, and those that waited too long.

A living runner claims both long before; this is for a house that has none.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Final
from uuid import UUID

from django.conf import settings
from django.db import transaction
from django.db.models import F, Q, QuerySet
from django.db.models.functions import Coalesce, Now

from chat.domain import generations
from chat.models import Chunk, Generation, Message

# An expired lease may stand for 15 s at most: this, and the 5 s between two looks.
ORPHANED: Final = timedelta(seconds=8)


def reap() -> int:
    """End what is due; how many runs that were."""
    reaped = 0
    for reason, due in (
        ("orphaned", _orphaned()),
        ("unclaimed", _unclaimed()),
        ("waited", _waiting_too_long()),
    ):
        for generation in due.values_list("pk", flat=True):
            reaped += _end(generation, due, reason)
    return reaped


def _orphaned() -> QuerySet[Generation]:
    return Generation.objects.filter(
        state=Generation.State.RUNNING, lease_until__lt=Now() - ORPHANED
    )


def _unclaimed() -> QuerySet[Generation]:
    """Queued for a while, and no runner holds a lease on anything: there is none."""
    if Generation.objects.filter(state=Generation.State.RUNNING, lease_until__gt=Now()).exists():
        return Generation.objects.none()
    return Generation.objects.annotate(
        due_at=Coalesce("lease_until", F("created_at") + generations.UNCLAIMED)
    ).filter(state=Generation.State.QUEUED, due_at__lt=Now())


def _waiting_too_long() -> QuerySet[Generation]:
    longest = timedelta(seconds=settings.ANSWER_MAX_SECONDS)
    return Generation.objects.filter(
        Q(lease_until=None) | Q(lease_until__lt=Now()),
        state=Generation.State.QUEUED,
        created_at__lt=Now() - longest,
    )


def _end(pk: UUID, due: QuerySet[Generation], reason: str) -> bool:
    """A step like any other: nothing happens where somebody came before."""
    with transaction.atomic():
        about = Message.objects.filter(generations=pk).select_for_update(no_key=True, of=("self",))
        answer = about.first()
        if answer is None:
            return False
        state = Generation.State.FAILED
        if Generation.objects.filter(pk=pk, stop_requested=True).exists():
            state, reason = Generation.State.STOPPED, ""
        elif answer.text or Chunk.objects.filter(generation=pk).exists():
            state = Generation.State.INTERRUPTED
        ended = due.filter(pk=pk).update(
            state=state, reason=reason, ended_at=Now(), lease_until=None
        )
        if ended:
            generations.fold(pk)
            generations.tell_changed(answer)
    return bool(ended)
