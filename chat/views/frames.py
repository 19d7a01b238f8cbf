"""What every chat page shows around its middle."""

from __future__ import annotations

from typing import Any
from uuid import UUID, uuid4

from django.conf import settings

from accounts.domain import policies
from accounts.requests import PageRequest
from chat.domain import conversations, shelves
from chat.models import Conversation


def frame(request: PageRequest, conversation: Conversation | None = None) -> dict[str, Any]:
    """What every chat page shows around its middle."""
    return {
        "conversation": conversation,
        "sections": conversations.sections(request.user),
        "folders": shelves.folders(request.user),
        "removed": request.session.pop("removed", None),
        "keeps_chats": policies.may_keep_chats(request.user),
        "manages_people": policies.may_manage_people(request.user),
        "manages_models": policies.may_manage_models(request.user),
        "message_id": uuid4(),
        "limit": settings.MESSAGE_MAX_CHARS,
        "text": request.session.pop("draft", {}).get("text", ""),
    }


def offer_undo(request: PageRequest, removed: list[UUID]) -> None:
    """The next page says what was deleted, and can bring it back."""
    if removed:
        request.session["removed"] = [str(pk) for pk in removed]
