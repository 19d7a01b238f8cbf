"""What every chat page shows around its middle."""

from __future__ import annotations

from typing import Any
from uuid import uuid4

from django.conf import settings

from accounts.domain import policies
from accounts.requests import PageRequest
from chat.domain import conversations
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
