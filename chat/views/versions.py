"""The versions of a model side by side, and who used it when, for who manages models."""

from __future__ import annotations

from uuid import UUID

from django.conf import settings
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_POST, require_safe

from accounts.requests import PageRequest
from chat.domain import usage, used, versions
from chat.models import LanguageModel, ModelVersion
from chat.version_forms import (
    GONE,
    NOT_USABLE,
    OVERTAKEN,
    AddVersionForm,
    ApproveForm,
    RuleForm,
)
from chat.views.language_models import managers_only


@managers_only
@require_safe
def page(request: PageRequest, model_id: UUID) -> HttpResponse:
    """Every version, and which of them answers."""
    return _shown(request, _row(model_id))


@managers_only
@require_safe
def history(request: PageRequest, model_id: UUID) -> HttpResponse:
    """Who used the model when, and what was done with it."""
    row = _row(model_id)
    context = {
        "model": row,
        "used": used.lately(row, zone=settings.TIME_ZONE),
        "acts": used.history(row, actor=request.user),
        "days": used.DAYS,
        "least": usage.LEAST_PEOPLE,
    }
    return render(request, "chat/model_history.html", context)


@managers_only
@require_POST
def approve(request: PageRequest, version_id: UUID) -> HttpResponse:
    """Have a version answer, also an earlier one."""
    found = get_object_or_404(ModelVersion.objects.select_related("language_model"), pk=version_id)
    form = ApproveForm(request.POST)
    form.is_valid()
    try:
        versions.approve(found, instead_of=form.cleaned_data.get("instead_of"), actor=request.user)
    except versions.Overtaken:
        return _shown(request, _row(found.language_model_id), OVERTAKEN)
    except versions.Gone:
        return _shown(request, _row(found.language_model_id), GONE)
    return redirect("chat:versions", model_id=found.language_model_id)


@managers_only
@require_POST
def add(request: PageRequest, model_id: UUID) -> HttpResponse:
    """Use another file of its engine as a new version."""
    row = _row(model_id)
    form = AddVersionForm(request.POST, row=row)
    if not form.is_valid():
        return _shown(request, row, str(next(iter(form.errors.values()))[0]))
    try:
        versions.add(row, form.cleaned_data["file"], actor=request.user)
    except versions.NotUsable:
        return _shown(request, row, NOT_USABLE)
    return redirect("chat:versions", model_id=row.pk)


@managers_only
@require_POST
def set_rule(request: PageRequest, model_id: UUID) -> HttpResponse:
    """Whether a changed file waits for somebody to approve it."""
    row = _row(model_id)
    needed = "needs_approval" in request.POST
    versions.set_approval(row, needed=needed, actor=request.user)
    return redirect("chat:versions", model_id=row.pk)


def _row(model_id: UUID) -> LanguageModel:
    return get_object_or_404(LanguageModel.objects.select_related("engine", "runs"), pk=model_id)


def _shown(request: PageRequest, row: LanguageModel, problem: object = "") -> HttpResponse:
    context = {
        "model": row,
        "problem": problem,
        "versions": list(versions.side_by_side(row)),
        "add_form": AddVersionForm(row=row),
        "rule_form": RuleForm(initial={"needs_approval": row.needs_approval}),
    }
    return render(request, "chat/versions.html", context, status=409 if problem else 200)
