"""How many people can this machine serve? A test with virtual people, kept and compared."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from celery import current_app
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_POST, require_safe
from kombu.exceptions import OperationalError

from accounts.requests import PageRequest
from chat.domain import capacity, generations
from chat.measuring import PEOPLE, Point
from chat.model_forms import AimForm
from chat.models import CapacityTest, LanguageModel
from chat.views.language_models import managers_only

_SHOWN = 5


@managers_only
@require_safe
def page(request: PageRequest, model_id: UUID) -> HttpResponse:
    """The newest tests of a model, each with the number of people at which an aim breaks."""
    model = get_object_or_404(LanguageModel, pk=model_id)
    capacity.forget_the_dead()
    form = AimForm(request.GET)
    rows = model.capacity_tests.select_related("language_model")[:_SHOWN]
    tests = [_told(row, form) for row in rows]
    others = [_told(row, form) for row in capacity.last_of_others(model)]
    context = {
        "model": model,
        "form": form,
        "tests": tests,
        "compared": [told for told in [*tests, *others] if told["points"]],
        "people": PEOPLE,
        "going": any(row.ended_at is None for row in rows),
        "somebody_waits": generations.anybody_waits(),
        "most": PEOPLE[-1],
    }
    return render(request, "chat/capacity.html", context)


@managers_only
@require_POST
def begin(request: PageRequest, model_id: UUID) -> HttpResponse:
    """Begin one, unless one is going."""
    model = get_object_or_404(LanguageModel, pk=model_id)
    made = capacity.begin(model, actor=request.user)
    if made is not None:
        _hand_over(made)
    return redirect("chat:capacity", model_id=model.pk)


@managers_only
@require_POST
def stop(request: PageRequest, model_id: UUID) -> HttpResponse:
    """End the one that is going; its points are kept."""
    model = get_object_or_404(LanguageModel, pk=model_id)
    capacity.stop(model, actor=request.user)
    return redirect("chat:capacity", model_id=model.pk)


def _hand_over(test: CapacityTest) -> None:
    """To the worker; by name, since tasks stand beside views and not below them."""
    try:
        current_app.send_task("chat.tasks.measure_capacity", [str(test.pk)])
    except OperationalError:
        capacity.end(test, "broken_off")


def _told(test: CapacityTest, form: AimForm) -> dict[str, Any]:
    points = [Point(**each) for each in test.points]
    served = [point.users for point in points if form.is_met_by(point)]
    rates = {point.users: point.tokens_per_s for point in points}
    broken = next((point.users for point in points if not form.is_met_by(point)), None)
    return {
        "test": test,
        "points": points,
        "served": max((users for users in served if broken is None or users < broken), default=0),
        "broken": broken,
        "by_people": [rates.get(users) for users in PEOPLE],
        "rates": [point.tokens_per_s for point in points],
        "labels": [f"{point.users}: {point.tokens_per_s:.0f}" for point in points],
    }
