"""What can be asked of an answer: how it stands, to stop, to be written on, to be written anew."""

from __future__ import annotations

from uuid import UUID

from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from accounts.requests import PageRequest
from chat.domain import access, answers, generations, rewriting, rights
from chat.forms import LanguageModelForm, OnceForm
from chat.models import Message
from chat.views import replies


@require_safe
@never_cache
def answer(request: PageRequest, message_id: UUID) -> HttpResponse:
    """One answer as it stands: what a page asks for while its socket is away."""
    return _as_it_stands(request, access.answer_for(request.user, message_id))


@require_safe
@never_cache
def reasoning(request: PageRequest, message_id: UUID) -> HttpResponse:
    """What the model thought before this answer, for a page that unfolds it."""
    found = access.answer_for(request.user, message_id)
    return replies.in_place(request, found, "chat/_thoughts.html")


@require_POST
def stop(request: PageRequest, message_id: UUID) -> HttpResponse:
    """End the answer now; what is written of it stays."""
    found = access.answer_for(request.user, message_id)
    generations.stop(found, actor=request.user)
    return _as_it_stands(request, found)


@require_POST
def retry(request: PageRequest, message_id: UUID) -> HttpResponse:
    """Write an answer on that ended before its end, or begin it again."""
    found = access.answer_for(request.user, message_id)
    form = OnceForm(request.POST)
    sibling_id = form.cleaned_data["message_id"] if form.is_valid() else None
    written = rewriting.retry(found, actor=request.user, sibling_id=sibling_id)
    if written.pk == found.pk:
        return _as_it_stands(request, written)
    return replies.branch(request, written)


@require_http_methods(["GET", "POST"])
@never_cache
def regenerate(request: PageRequest, message_id: UUID) -> HttpResponse:
    """Another answer to the same question; the form lets the person choose who writes it."""
    found = access.answer_for(request.user, message_id)
    data = request.POST if request.method == "POST" else None
    form = LanguageModelForm(data, user=request.user)
    if form.is_valid():
        written = rewriting.regenerate(
            found,
            actor=request.user,
            sibling_id=form.cleaned_data["message_id"],
            language_model=form.cleaned_data["language_model"],
        )
        return replies.branch(request, written)
    return replies.in_place(
        request,
        found,
        "chat/_regenerate.html",
        language_models=rights.offered_to(request.user),
        problem=form.problem,
        status=422 if form.is_bound else 200,
    )


def _as_it_stands(request: PageRequest, found: Message) -> HttpResponse:
    if not request.htmx:
        return redirect(replies.address(found))
    reading = answers.one(found)
    context = {
        "reading": reading,
        "conversation": found.conversation,
        "active": reading if reading.is_active else None,
        "whole": True,
    }
    return render(request, "chat/_answer_and_composer.html", context)
