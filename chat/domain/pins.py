"""Which models administrators keep in memory. The rows say so; engines forget it when they end."""

from __future__ import annotations

from django.db import transaction

from accounts.domain import audit
from accounts.models import User
from chat.models import EngineConnection, LanguageModel


def keep(language_model: LanguageModel, *, pinned: bool, actor: User) -> None:
    """Write down what an administrator said; the engine has been told."""
    with transaction.atomic():
        language_model.pinned = pinned
        language_model.save(update_fields=["pinned"])
        if pinned:
            audit.record("model.pinned", actor=actor, about=language_model)
        else:
            audit.record("model.unpinned", actor=actor, about=language_model)


def of(connection: EngineConnection) -> dict[str, bool]:
    """By the names at this engine, what was said of its models; nothing of the others, which are
    as the engine's own files say."""
    rows = LanguageModel.objects.filter(engine=connection, available=True)
    return {
        runs or name: pinned
        for name, runs, pinned in rows.values_list("name", "runs_name", "pinned")
        if pinned is not None
    }
