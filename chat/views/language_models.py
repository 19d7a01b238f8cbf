"""The models of the house, for who manages them. To everybody else these pages do not exist."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any
from uuid import UUID

from django.http import Http404, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_http_methods, require_safe

from accounts.domain import policies
from accounts.requests import PageRequest
from chat.domain import catalogue
from chat.model_forms import ModelForm
from chat.models import LanguageModel
from chat.views.model_list import Query, shown

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
    return listed(request, Query.of(request.GET))


def listed(request: PageRequest, query: Query, problem: str = "") -> HttpResponse:
    """The list, with what went wrong where something did."""
    context = {"page": shown(query), "problem": problem}
    return render(request, "chat/catalogue.html", context, status=409 if problem else 200)


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
