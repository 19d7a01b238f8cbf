"""What a page says of an engine beside its name."""

from __future__ import annotations

from typing import cast

from django import template

from chat.models import EngineConnection
from engine_adapter.remote.kinds import Kind, keeps_people_apart

register = template.Library()


@register.filter(name="keeps_people_apart")
def _keeps_people_apart(engine: EngineConnection) -> bool:
    """Whether what one person asks is not found in the prompt cache by another."""
    if engine.kind == EngineConnection.Kind.BUNDLED:
        return True
    return keeps_people_apart(cast("Kind", engine.kind))
