"""Models on their way in, for who manages them. Files come in pieces (tus 1.0), or are fetched."""

from __future__ import annotations

import base64
import binascii
from typing import Any
from uuid import UUID

from celery import current_app
from django.conf import settings
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_POST
from kombu.exceptions import OperationalError

from accounts.requests import PageRequest
from chat import arrival_forms
from chat.domain import arrival_words, arrivals, model_files
from chat.domain.model_files import Refusal
from chat.models import ModelArrival
from chat.views.language_models import managers_only
from chat.views.model_files import show_at_once

TUS = {"Tus-Resumable": "1.0.0"}
_PIECE = "application/offset+octet-stream"
_Source, _State = ModelArrival.Source, ModelArrival.State
_GOING = {_State.RUNNING, _State.WAITING, _State.CHECKING}
_LASTING = {"disk", "full", "lost", "system"}  # until somebody has seen to it
_FORMS = {
    "host": arrival_forms.HostForm,
    "address": arrival_forms.AddressForm,
    "hub": arrival_forms.HubForm,
    "engine": arrival_forms.PullForm,
}


@managers_only
@require_http_methods(["GET", "POST"])
def add(request: PageRequest) -> HttpResponse:
    """Every way in, and what is on its way."""
    way = request.POST.get("way", "")
    forms = {
        name: form(request.POST if name == way else None, prefix=name)
        for name, form in _FORMS.items()
    }
    problem = ""
    if request.method == "POST" and way in forms and forms[way].is_valid():
        try:
            _begin(request, way, forms[way].cleaned_data)
        except Refusal as refusal:
            problem = arrival_words.sentence(refusal.code, refusal.facts)
        else:
            _wake()
            return redirect("chat:add_model")
    return _page(request, forms, problem)


def _begin(request: PageRequest, way: str, told: dict[str, Any]) -> None:
    if way == "host":
        arrivals.begin_by_hand(
            file_name=told["file_name"], sha256=told["sha256"], actor=request.user
        )
    elif way == "engine":
        arrivals.begin_pull(told["engine"], name=told["name"], actor=request.user)
    elif not settings.OUTGOING or (way == "hub" and not settings.HUB_URL):
        raise Refusal("off")
    else:
        arrivals.begin_fetch(
            _Source(way), origin=told["url"], file_name=told["file_name"],
            sha256=told.get("sha256", ""), actor=request.user,
        )  # fmt: skip


def _page(request: PageRequest, forms: dict[str, Any], problem: str) -> HttpResponse:
    rows, folder = arrivals.listed(), None
    if model_files.are_here():
        try:
            folder = model_files.incoming()
        except Refusal as refusal:
            problem = problem or arrival_words.sentence(refusal.code, refusal.facts)
    context = {
        "forms": forms,
        "problem": problem,
        "arrivals": [(row, arrival_words.of(row)) for row in rows],
        "going": any(row.state in _GOING for row in rows),
        "folder": folder,
        "outgoing": settings.OUTGOING,
        "hub": settings.HUB_URL,
        "pullers": forms["engine"].fields["engine"].queryset.exists(),
    }
    wrong = bool(problem) or any(form.errors for form in forms.values())
    return render(request, "chat/catalogue_add.html", context, status=422 if wrong else 200)


@managers_only
@require_POST
def act(request: PageRequest, arrival_id: UUID) -> HttpResponse:
    """Pause, go on, cancel, or take into service."""
    verbs = {"pause": arrivals.pause, "resume": arrivals.resume, "cancel": arrivals.cancel}
    wanted = request.POST.get("act", "")
    get_object_or_404(ModelArrival, pk=arrival_id)
    try:
        if wanted == "take":
            show_at_once(arrivals.take(arrival_id, actor=request.user).engine)
        elif wanted in verbs:
            verbs[wanted](arrival_id, actor=request.user)
    except Refusal as refusal:
        words = arrival_words.sentence(refusal.code, refusal.facts)
        return _page(request, {name: form(prefix=name) for name, form in _FORMS.items()}, words)
    _wake()
    return redirect("chat:add_model")


@managers_only
@require_POST
def begin_upload(request: PageRequest) -> HttpResponse:
    """tus' creation: where the pieces go. For a file that broke off it is where they went."""
    told = {**_metadata(request), "total_bytes": request.headers.get("Upload-Length", "")}
    form = arrival_forms.UploadForm({**told, "file_name": told.get("filename", "")})
    if not form.is_valid():
        words = " ".join(str(error) for errors in form.errors.values() for error in errors)
        return HttpResponse(words, status=422, content_type="text/plain", headers=TUS)
    try:
        made = arrivals.begin_upload(actor=request.user, **form.cleaned_data)
    except Refusal as refusal:
        words = arrival_words.sentence(refusal.code, refusal.facts)
        return HttpResponse(words, status=422, content_type="text/plain", headers=TUS)
    where = reverse("chat:model_upload", args=[made.pk])
    return HttpResponse(status=201, headers={**TUS, "Location": where})


@managers_only
@require_http_methods(["GET", "HEAD", "POST"])
def upload(request: PageRequest, arrival_id: UUID) -> HttpResponse:
    """How much is here, and the next piece. That comes as a POST (tus' method override), which is
    guarded as every other act is."""
    there = ModelArrival.objects.exclude(state__in=(_State.REFUSED, _State.CANCELLED))
    row = get_object_or_404(there, pk=arrival_id, source=_Source.UPLOAD)
    if request.method != "POST":
        told = {"Upload-Offset": row.received_bytes, "Upload-Length": row.total_bytes}
        return HttpResponse(status=200, headers={**TUS, **told})
    if request.content_type != _PIECE:
        return HttpResponse(status=415, headers=TUS)
    offset = request.headers.get("Upload-Offset", "")
    try:
        number = int(offset) if offset.isdecimal() and len(offset) < 19 else -1
        here = arrivals.write(row.pk, offset=number, read=request.read)
    except Refusal as refusal:
        if refusal.code in _LASTING:
            arrivals.halt(row, refusal.code, **refusal.facts)
        return HttpResponse(refusal.code, status=409, headers=TUS)
    if here == row.total_bytes:
        _wake()
    return HttpResponse(status=204, headers={**TUS, "Upload-Offset": here})


def _metadata(request: PageRequest) -> dict[str, str]:
    """tus' list of names with values in base64; what is none is left out."""
    found = {}
    for pair in request.headers.get("Upload-Metadata", "")[:4000].split(","):
        name, _, value = pair.strip().partition(" ")
        try:
            found[name] = base64.b64decode(value, validate=True).decode()
        except (binascii.Error, ValueError):
            continue
    return found


def _wake() -> None:
    """The worker looks at once; without it, within seconds. By name, since tasks stand beside views
    and not below them."""
    try:
        current_app.send_task("chat.tasks.bring_models")
    except OperationalError:
        return
