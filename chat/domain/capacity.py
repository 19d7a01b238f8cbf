"""Capacity tests as rows: begun, measured point by point, stopped, kept and compared."""

from __future__ import annotations

from datetime import timedelta
from typing import Any, Final

from django.db import IntegrityError, transaction
from django.db.models import QuerySet
from django.utils import timezone

from accounts.domain import audit
from accounts.models import User
from chat.models import CapacityTest, LanguageModel

# A worker that died tells nothing any more.
SILENCE: Final = timedelta(seconds=60)


def begin(language_model: LanguageModel, *, actor: User) -> CapacityTest | None:
    """A new test for the worker to take up; ``None`` while another one of this model is going."""
    forget_the_dead()
    try:
        with transaction.atomic():
            made = CapacityTest.objects.create(
                language_model=language_model, seen_at=timezone.now()
            )
            audit.record("capacity_test.begun", actor=actor, about=language_model)
    except IntegrityError:
        return None
    return made


def forget_the_dead() -> None:
    """End the tests whose worker gives no sign of life."""
    silent = CapacityTest.objects.filter(ended_at=None, seen_at__lt=timezone.now() - SILENCE)
    silent.update(ended_at=timezone.now(), trouble="broken_off")


def last_of_others(language_model: LanguageModel) -> QuerySet[CapacityTest]:
    """The newest test of each other model, to compare with."""
    over = CapacityTest.objects.exclude(language_model=language_model).exclude(ended_at=None)
    newest = over.exclude(points=[]).order_by("language_model_id", "-created_at")
    return newest.distinct("language_model_id").select_related("language_model")


def stop(language_model: LanguageModel, *, actor: User) -> None:
    """What is measured so far is kept."""
    with transaction.atomic():
        going = CapacityTest.objects.filter(language_model=language_model, ended_at=None)
        if going.update(stop_requested=True):
            audit.record("capacity_test.stopped", actor=actor, about=language_model)


def goes_on(test: CapacityTest) -> bool:
    """A sign of life; whether anybody still wants it."""
    going = CapacityTest.objects.filter(pk=test.pk, ended_at=None)
    going.update(seen_at=timezone.now())
    return going.filter(stop_requested=False).exists()


def add(test: CapacityTest, point: dict[str, Any]) -> None:
    """One more point."""
    test.points = [*test.points, point]
    test.save(update_fields=["points"])


def end(test: CapacityTest, trouble: str = "") -> None:
    """It is over; ``trouble`` says why before its end."""
    CapacityTest.objects.filter(pk=test.pk, ended_at=None).update(
        ended_at=timezone.now(), trouble=trouble
    )
