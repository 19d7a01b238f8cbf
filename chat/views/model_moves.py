"""Acts on the memory of an engine: a model loaded, unloaded, pinned, unpinned."""

from __future__ import annotations

from collections.abc import Callable
from uuid import UUID

from asgiref.sync import async_to_sync
from django.http import HttpResponse, QueryDict
from django.shortcuts import get_object_or_404, redirect
from django.urls import reverse
from django.views.decorators.http import require_POST

from accounts.requests import PageRequest
from chat import engines
from chat.domain import catalogue, diagnosis, pins
from chat.models import LanguageModel
from chat.views.language_models import listed, managers_only
from chat.views.model_list import Query
from engine_adapter.errors import EngineError


@managers_only
@require_POST
def load(request: PageRequest, model_id: UUID) -> HttpResponse:
    """Have it in memory before somebody asks."""
    return _act(request, model_id, lambda row, name: _move(request, row, name, load=True))


@managers_only
@require_POST
def unload(request: PageRequest, model_id: UUID) -> HttpResponse:
    """Have its memory free, unless somebody is using it."""
    return _act(request, model_id, lambda row, name: _move(request, row, name, load=False))


@managers_only
@require_POST
def pin(request: PageRequest, model_id: UUID) -> HttpResponse:
    """Have it in memory always."""
    return _act(request, model_id, lambda row, name: _pin(request, row, name, pinned=True))


@managers_only
@require_POST
def unpin(request: PageRequest, model_id: UUID) -> HttpResponse:
    """Let it give way to others again."""
    return _act(request, model_id, lambda row, name: _pin(request, row, name, pinned=False))


def _act(
    request: PageRequest, model_id: UUID, act: Callable[[LanguageModel, str], None]
) -> HttpResponse:
    row = get_object_or_404(LanguageModel.objects.select_related("engine"), pk=model_id)
    query = Query.of(QueryDict(request.POST.get("query", "")[:500]))
    try:
        act(row, row.runs_name or row.name)
    except EngineError as error:
        return listed(request, query, f"{row.named}: {diagnosis.of(error)}")
    if request.POST.get("stay"):
        return redirect("chat:model", row.pk)
    address = reverse("chat:models")
    return redirect(f"{address}?{query}" if str(query) else address)


def _move(request: PageRequest, row: LanguageModel, name: str, *, load: bool) -> None:
    async_to_sync(engines.move)(row.engine, name, load=load)
    catalogue.note_move(row, load=load, actor=request.user)


def _pin(request: PageRequest, row: LanguageModel, name: str, *, pinned: bool) -> None:
    async_to_sync(engines.pin)(row.engine, name, pinned=pinned)
    pins.keep(row, pinned=pinned, actor=request.user)
