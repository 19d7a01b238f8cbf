"""A conversation to take along, with every branch: what was said, when, and which model said it."""

from __future__ import annotations

import hashlib
from typing import Any, Final
from uuid import UUID

from django.utils import timezone

from chat.domain import answers, provenance
from chat.domain.answers import Reading
from chat.models import Conversation, LanguageModel, ModelVersion

FORMAT: Final = "konak-conversation"
VERSION: Final = 1


def document(conversation: Conversation) -> dict[str, Any]:
    """The whole tree as JSON takes it; ``parent`` is the message before, ``null`` at the beginning.

    ``sha256`` of a message is that of its text in UTF-8, of a model that of the file which wrote,
    empty where that is not known.
    """
    messages = conversation.messages.select_related("language_model__engine")
    readings = answers.read(messages.order_by("created_at", "id"))
    served = _served(readings)
    wrote = provenance.of(readings)
    return {
        "format": FORMAT,
        "version": VERSION,
        "exported_at": timezone.now().isoformat(),
        "id": str(conversation.pk),
        "title": conversation.title,
        "created_at": conversation.created_at.isoformat(),
        "updated_at": conversation.updated_at.isoformat(),
        "messages": [_message(reading, wrote, served) for reading in readings],
    }


def _message(
    reading: Reading, wrote: dict[UUID, ModelVersion], served: dict[UUID, str]
) -> dict[str, Any]:
    message = reading.message
    found: dict[str, Any] = {
        "id": str(message.pk),
        "parent": str(message.parent_id) if message.parent_id else None,
        "role": message.role,
        "created_at": message.created_at.isoformat(),
        "text": reading.text,
        "sha256": hashlib.sha256(reading.text.encode()).hexdigest(),
    }
    if reading.reasoned_ms is not None:
        found["reasoning"] = {"text": reading.thoughts, "ms": reading.reasoned_ms}
    if message.rating:
        found["rating"] = {"value": message.rating, "reason": message.rating_reason}
    if message.language_model:
        found["model"] = _model(message.language_model, wrote.get(message.pk))
    if run := reading.generation:
        found["run"] = {
            "state": run.state,
            "reason": run.reason,
            "started_at": run.started_at and run.started_at.isoformat(),
            "ended_at": run.ended_at and run.ended_at.isoformat(),
            "prompt_tokens": run.prompt_tokens,
            "completion_tokens": run.completion_tokens,
        }
        if run.served_by_id in served:
            found["run"]["engine"] = served[run.served_by_id]
    return found


def _served(readings: list[Reading]) -> dict[UUID, str]:
    """The engines that answered in the name of another one's model, by the rows of theirs."""
    runs = [reading.generation for reading in readings if reading.generation]
    if not (ids := {run.served_by_id for run in runs if run.served_by_id}):
        return {}
    return dict(LanguageModel.objects.filter(pk__in=ids).values_list("pk", "engine__name"))


def _model(model: LanguageModel, version: ModelVersion | None) -> dict[str, Any]:
    return {
        "name": version.name if version else model.name,
        "display_name": model.display_name,
        "engine": model.engine.name,
        "quantization": version.quantization if version else model.quantization,
        "sha256": version.sha256 if version else "",
    }
