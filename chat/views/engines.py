"""Engines, for who manages models: looked at before they are added, changed, removed."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from asgiref.sync import async_to_sync
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_http_methods, require_POST

from accounts.requests import PageRequest
from chat import engines
from chat.domain import catalogue, connections, diagnosis, reasons, vault
from chat.model_forms import EngineForm
from chat.models import EngineConnection
from chat.views.language_models import managers_only
from engine_adapter.errors import EngineError

_OTHERS = EngineConnection.objects.filter(removed_at=None).exclude(
    kind=EngineConnection.Kind.BUNDLED
)


@managers_only
@require_http_methods(["GET", "POST"])
def add(request: PageRequest) -> HttpResponse:
    """Look at an address, and add the engine that answers there."""
    return _form(request, None)


@managers_only
@require_http_methods(["GET", "POST"])
def change(request: PageRequest, engine_id: UUID) -> HttpResponse:
    """Another name, address or key; or only a look at how it answers."""
    return _form(request, get_object_or_404(_OTHERS, pk=engine_id))


@managers_only
@require_POST
def remove(request: PageRequest, engine_id: UUID) -> HttpResponse:
    """Its models are gone with it; conversations stay and name them."""
    connections.remove(get_object_or_404(_OTHERS, pk=engine_id), actor=request.user)
    return redirect("chat:models")


def _form(request: PageRequest, row: EngineConnection | None) -> HttpResponse:
    names = ("name", "url", "kind", "ca_file")
    initial = {name: getattr(row, name) for name in names} if row else {}
    form = EngineForm(request.POST or None, row=row, initial=initial)
    context: dict[str, Any] = {"form": form, "engine": row}
    if form.is_valid():
        found, trouble = _look(form, row)
        act = request.POST.get("act", "")
        is_known = (found and found.kind) or form.cleaned_data["kind"]
        if act == "save" and is_known and (trouble is None or request.POST.get("anyway")):
            _save(request, form, row, is_known)
            return redirect("chat:models")
        labels = dict(EngineConnection.Kind.choices)
        context |= {
            "looked": True, "found": found, "trouble": trouble, "asks_anyway": act == "save",
            "kind": labels.get(found.kind or "") if found else None,
        }  # fmt: skip
    status = 422 if form.errors or context.get("asks_anyway") else 200
    return render(request, "chat/catalogue_engine.html", context, status=status)


def _look(
    form: EngineForm, row: EngineConnection | None
) -> tuple[engines.Found | None, str | None]:
    """What answers there, and what is wrong with it in a sentence."""
    told = form.cleaned_data
    key = form.key_told
    if key is None and row:
        key = vault.unseal(row.sealed_key)
    try:
        found = async_to_sync(engines.look)(
            told["url"], api_key=key or None, ca_file=told["ca_file"] or None
        )
    except engines.BadAddress as error:
        return None, reasons.sentence(error.why)
    return found, diagnosis.of(found.error) if found.error else None


def _save(request: PageRequest, form: EngineForm, row: EngineConnection | None, kind: str) -> None:
    told = {name: form.cleaned_data[name] for name in ("name", "url", "ca_file")}
    told["kind"] = form.cleaned_data["kind"] or kind
    if row:
        connections.change(row, key=form.key_told, actor=request.user, **told)
    else:
        row = connections.add(key=form.key_told or "", actor=request.user, **told)
    # At once: who has just added it looks for its models on the next page.
    try:
        catalogue.refresh(row, async_to_sync(engines.cards)(row))
    except EngineError:
        return
