"""Whole pages: a new chat, and a conversation from its first question to its newest word."""

from __future__ import annotations

from typing import Any
from uuid import UUID, uuid4

from django.conf import settings
from django.http import HttpResponse
from django.shortcuts import render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from accounts.domain import policies
from accounts.requests import PageRequest
from chat.domain import access, answers, catalogue, conversations
from chat.models import Conversation


def frame(request: PageRequest, conversation: Conversation | None = None) -> dict[str, Any]:
    """What every chat page shows around its middle."""
    return {
        "conversation": conversation,
        "sections": conversations.sections(request.user),
        "manages_people": policies.may_manage_people(request.user),
        "message_id": uuid4(),
        "limit": settings.MESSAGE_MAX_CHARS,
        "text": request.session.pop("draft", {}).get("text", ""),
    }


def conversation_context(request: PageRequest, conversation: Conversation) -> dict[str, Any]:
    """A conversation's page, also where it is shown again after a refused post."""
    readings = answers.path(conversation)
    return {
        **frame(request, conversation),
        "readings": readings,
        "active": next((r for r in readings if r.is_active), None),
    }


def new_context(request: PageRequest) -> dict[str, Any]:
    """The page of a new chat."""
    return {
        **frame(request),
        "language_models": catalogue.usable_by(request.user),
        "chosen": catalogue.default_for(request.user),
    }


@require_safe
@never_cache
def new(request: PageRequest) -> HttpResponse:
    """An empty page with the cursor in the composer."""
    return render(request, "chat/page.html", new_context(request))


@require_safe
@never_cache
def conversation(request: PageRequest, conversation_id: UUID) -> HttpResponse:
    """Everything said so far; what is being written goes on growing."""
    found = access.conversation_for(request.user, conversation_id)
    return render(request, "chat/page.html", conversation_context(request, found))
