"""Whole pages: a new chat, and a conversation from its first question to its newest word."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.conf import settings
from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render
from django.utils import translation
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from accounts.domain import policies
from accounts.requests import PageRequest
from chat.domain import access, branches, catalogue, paths, rights, starters, window
from chat.domain.paths import Page
from chat.models import Conversation, Message
from chat.views import frames, replies


def conversation_context(
    request: PageRequest, conversation: Conversation, page: Page | None = None
) -> dict[str, Any]:
    """A conversation's page, also where it is shown again after a refused post."""
    page = page or paths.newest(conversation)
    models = list(rights.offered_to(request.user))
    return {
        **frames.frame(request, conversation),
        "page": page,
        "leaf": page.leaf,
        "active": page.active,
        "cut": branches.restorable(conversation),
        "language_models": models,
        "several_models": len(models) > 1,
        "chosen": conversation.language_model,
        **_lost(request, conversation),
        "fill": window.fill(page.readings, conversation.language_model),
    }


def _lost(request: PageRequest, conversation: Conversation) -> dict[str, Any]:
    """The model of the conversation where it is not there any more, and what is offered instead."""
    model = conversation.language_model
    if rights.is_there(model, request.user):
        return {}
    return {"lost": model, "instead": rights.successor_of(model, request.user)}


def new_context(request: PageRequest) -> dict[str, Any]:
    """The page of a new chat."""
    offered = starters.of(translation.get_language() or settings.LANGUAGE_CODE)
    context = frames.frame(request)
    chosen = request.GET.get("starter", "")
    if not context["text"] and chosen.isascii() and chosen.isdecimal() and len(chosen) < 3:
        context["text"] = "".join(offered[int(chosen) : int(chosen) + 1])
    models = list(rights.offered_to(request.user))
    asked_for = request.POST.get("language_model") or request.GET.get("model")
    named = next((model for model in models if str(model.pk) == asked_for), None)
    return {
        **context,
        "starters": offered,
        "language_models": models,
        "chosen": named or catalogue.default_for(request.user),
    }


@require_safe
@never_cache
def new(request: PageRequest) -> HttpResponse:
    """An empty page with the cursor in the composer; a temporary chat where nothing is kept."""
    if not policies.may_keep_chats(request.user):
        return redirect("chat:temporary")
    return render(request, "chat/page.html", new_context(request))


@require_safe
@never_cache
def conversation(request: PageRequest, conversation_id: UUID) -> HttpResponse:
    """A page of what was said; what is being written goes on growing.

    ``at`` names the branch: the path through that message down to the newest below it. ``before``
    and ``after`` name a message to read on from.
    """
    found = access.conversation_for(request.user, conversation_id)
    at, before, after = (_named(request, found, name) for name in ("at", "before", "after"))
    if request.htmx and before:
        page = paths.upto(before, at, including=False)
        return replies.stretch(request, page, above=True)
    if request.htmx and after:
        page = paths.since(after, at, including=False)
        return replies.stretch(request, page, goes_on=at is None)
    if request.htmx and at:
        return replies.branch(request, at)
    page = _page(found, at, before, after)
    return render(request, "chat/page.html", conversation_context(request, found, page))


def _page(
    found: Conversation, at: Message | None, before: Message | None, after: Message | None
) -> Page:
    if before:
        return paths.upto(before, at, including=True)
    if after:
        return paths.since(after, at, including=True)
    return paths.through(at) if at else paths.newest(found)


def _named(request: PageRequest, found: Conversation, name: str) -> Message | None:
    """The message of this conversation that the address names. One that is gone is not there."""
    try:
        pk = UUID(request.GET.get(name, ""))
    except ValueError:
        return None
    message = found.messages.select_related("language_model").filter(pk=pk).first()
    if message is None and request.htmx:
        raise Http404
    return message
