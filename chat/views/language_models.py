"""The models of the house, for who manages them. To everybody else these pages do not exist."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any
from uuid import UUID

from asgiref.sync import async_to_sync
from django.http import Http404, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from accounts.domain import policies
from accounts.requests import PageRequest
from chat import engines
from chat.domain import catalogue, connections, diagnosis
from chat.domain import load as busy
from chat.model_forms import ModelForm
from chat.models import LanguageModel
from engine_adapter.errors import EngineError

View = Callable[..., HttpResponse]


def managers_only(view: View) -> View:
    """404 for everybody else, as for any page that is not there."""

    @wraps(view)
    def guarded(request: PageRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        if not policies.may_manage_models(request.user):
            raise Http404
        return view(request, *args, **kwargs)

    return guarded


@managers_only
@require_safe
def models(request: PageRequest) -> HttpResponse:
    """Every engine with its models; how they are doing comes a moment later."""
    return _listed(request)


def _listed(request: PageRequest, problem: str = "") -> HttpResponse:
    rows = connections.every()
    of = catalogue.by_engine(rows)
    context = {"engines": [(row, of[row.pk]) for row in rows], "problem": problem}
    return render(request, "chat/catalogue.html", context, status=409 if problem else 200)


@managers_only
@require_POST
def load(request: PageRequest, model_id: UUID) -> HttpResponse:
    """Have it in memory before somebody asks."""
    return _move(request, model_id, load=True)


@managers_only
@require_POST
def unload(request: PageRequest, model_id: UUID) -> HttpResponse:
    """Have its memory free, unless somebody is using it."""
    return _move(request, model_id, load=False)


def _move(request: PageRequest, model_id: UUID, *, load: bool) -> HttpResponse:
    row = get_object_or_404(LanguageModel.objects.select_related("engine"), pk=model_id)
    try:
        async_to_sync(engines.move)(row.engine, row.name, load=load)
    except EngineError as error:
        return _listed(request, f"{row.display_name}: {diagnosis.of(error)}")
    catalogue.note_move(row, load=load, actor=request.user)
    return redirect("chat:models")


@managers_only
@require_safe
def now(request: PageRequest) -> HttpResponse:
    """How each engine is doing at this moment: asked for by the open page, again and again."""
    rows = connections.every()
    states = async_to_sync(engines.states)(rows)
    of = catalogue.by_engine(rows)
    told = [
        (row, state, _trouble(state), [(m, state.cards.get(m.name)) for m in of[row.pk]])
        for row, state in zip(rows, states, strict=True)
    ]
    return render(request, "chat/_catalogue_now.html", {"told": told})


@managers_only
@require_safe
def busyness(request: PageRequest) -> HttpResponse:
    """How busy each model was in the last hour, from the runs of its answers."""
    found = busy.of_the_last_hour()
    rows = LanguageModel.objects.filter(pk__in=found)
    return render(request, "chat/load.html", {"loads": [(row, found[row.pk]) for row in rows]})


def _trouble(state: engines.State) -> str:
    return diagnosis.of(state.error) if isinstance(state.error, EngineError) else ""


@managers_only
@require_http_methods(["GET", "POST"])
def change(request: PageRequest, model_id: UUID) -> HttpResponse:
    """Who may use a model, and how it is run."""
    row = get_object_or_404(LanguageModel.objects.select_related("engine"), pk=model_id)
    form = ModelForm(request.POST or None, row=row)
    if form.is_valid():
        catalogue.change(row, actor=request.user, **form.cleaned_data)
        return redirect("chat:models")
    context = {"form": form, "model": row}
    return render(request, "chat/catalogue_model.html", context, status=422 if form.errors else 200)
