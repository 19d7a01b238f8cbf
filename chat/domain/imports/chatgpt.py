"""The ``conversations.json`` of ChatGPT's export: a mapping of nodes, each with its parent."""

from __future__ import annotations

from typing import Any

from chat.domain.imports.foreign import Malformed, Said, Talk, moment_in, text_in


def knows(item: Any) -> bool:
    """Whether this is a conversation of theirs."""
    return isinstance(item, dict) and isinstance(item.get("mapping"), dict)


def talk(item: dict[str, Any]) -> Talk:
    """One conversation. Raises ``Malformed``."""
    said = [_said(str(key), node) for key, node in item["mapping"].items()]
    return Talk(
        key=str(item.get("conversation_id") or item.get("id") or ""),
        title=text_in(item.get("title")),
        said=said,
        at=moment_in(item.get("create_time")),
        used_at=moment_in(item.get("update_time")),
    )


def _said(key: str, node: Any) -> Said:
    if not isinstance(node, dict):
        raise Malformed
    parent = node.get("parent")
    message = node.get("message")
    if not isinstance(message, dict):  # the root
        return Said(key, _key(parent), "", "", skipped=True)
    author, content = message.get("author"), message.get("content")
    if not isinstance(author, dict) or not isinstance(content, dict):
        raise Malformed
    metadata = message.get("metadata")
    details: dict[str, Any] = metadata if isinstance(metadata, dict) else {}
    text, attachments = _content(content)
    return Said(
        key,
        _key(parent),
        str(author.get("role")),
        text,
        at=moment_in(message.get("create_time")),
        model=text_in(details.get("model_slug"))[:200],
        skipped=bool(details.get("is_visually_hidden_from_conversation"))
        or content.get("content_type") not in ("text", "multimodal_text", "code"),
        attachments=attachments,
    )


def _key(value: Any) -> str | None:
    return value if isinstance(value, str) else None


def _content(content: dict[str, Any]) -> tuple[str, int]:
    """The words, and how many pictures or files stand between them."""
    if content.get("content_type") == "code":
        return f"```\n{text_in(content.get('text'))}\n```", 0
    parts = content.get("parts")
    if not isinstance(parts, list):
        return "", 0
    texts = [text_in(part if isinstance(part, str) else _words(part)) for part in parts]
    pictures = sum(isinstance(part, dict) and not _words(part) for part in parts)
    return "\n\n".join(filter(None, texts)).strip(), pictures


def _words(part: Any) -> Any:
    """What was spoken, where a part is a transcribed recording."""
    return part.get("text") if isinstance(part, dict) else None
