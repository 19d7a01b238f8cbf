"""Konak's own JSON export, so that what was taken along can come back."""

from __future__ import annotations

from typing import Any, Final

from chat.domain import export
from chat.domain.imports.foreign import Malformed, Said, Talk, moment_in, text_in

MOST_MS: Final = 24 * 3600 * 1000


def knows(item: Any) -> bool:
    """Whether this is a conversation of ours."""
    return isinstance(item, dict) and item.get("format") == export.FORMAT


def talk(item: dict[str, Any]) -> Talk:
    """One conversation. Raises ``Malformed``, also for a version that is not known yet."""
    messages = item.get("messages")
    if not isinstance(messages, list) or item.get("version") != export.VERSION:
        raise Malformed
    return Talk(
        key=str(item.get("id") or ""),
        title=text_in(item.get("title")),
        said=[_said(each) for each in messages],
        at=moment_in(item.get("created_at")),
        used_at=moment_in(item.get("updated_at")),
    )


def _said(message: Any) -> Said:
    if not isinstance(message, dict):
        raise Malformed
    parent, model = message.get("parent"), message.get("model")
    thoughts = message.get("reasoning")
    reasoning, ms = ("", 0) if not isinstance(thoughts, dict) else _reasoning(thoughts)
    return Said(
        str(message.get("id")),
        parent if isinstance(parent, str) else None,
        str(message.get("role")),
        text_in(message.get("text")),
        at=moment_in(message.get("created_at")),
        model=text_in(model.get("display_name"))[:200] if isinstance(model, dict) else "",
        reasoning=reasoning,
        reasoned_ms=ms,
    )


def _reasoning(thoughts: dict[str, Any]) -> tuple[str, int]:
    ms = thoughts.get("ms")
    ms = ms if isinstance(ms, int) and 0 <= ms < MOST_MS else 0
    return text_in(thoughts.get("text")), ms
