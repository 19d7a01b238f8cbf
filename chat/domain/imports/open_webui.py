"""Open WebUI's export: a list of chats, whose history holds every message with its parent."""

from __future__ import annotations

import re
from html import unescape
from itertools import pairwise
from typing import Any, Final

from chat.domain.imports.foreign import Malformed, Said, Talk, moment_in, text_in

# What the model thought stands folded in the text, as HTML of theirs: escaped, and as a quotation.
_THOUGHTS: Final = re.compile(
    r"<details type=\"reasoning\"([^>]*)>\s*(?:<summary>[^<]*</summary>)?(.*?)</details>\s*",
    re.DOTALL,
)
_SECONDS: Final = re.compile(r"\bduration=\"(\d{1,5})\"")
_QUOTED: Final = re.compile(r"^> ?", re.MULTILINE)


def knows(item: Any) -> bool:
    """Whether this is a chat of theirs."""
    return isinstance(item, dict) and isinstance(item.get("chat"), dict)


def talk(item: dict[str, Any]) -> Talk:
    """One chat. Raises ``Malformed``."""
    chat = item["chat"]
    history = chat.get("history")
    messages = history.get("messages") if isinstance(history, dict) else None
    if isinstance(messages, dict):
        said = [_said(str(key), each) for key, each in messages.items()]
    elif isinstance(chat.get("messages"), list):
        said = _in_a_row(chat["messages"])
    else:
        raise Malformed
    return Talk(
        key=str(item.get("id") or ""),
        title=text_in(item.get("title") or chat.get("title")),
        said=said,
        at=moment_in(item.get("created_at") or chat.get("timestamp")),
        used_at=moment_in(item.get("updated_at")),
    )


def _in_a_row(messages: list[Any]) -> list[Said]:
    """Chats of old versions are a plain list."""
    said = [_said(str(place), each) for place, each in enumerate(messages)]
    for before, each in pairwise(said):
        each.parent = before.key
    return said


def _said(key: str, message: Any) -> Said:
    if not isinstance(message, dict):
        raise Malformed
    parent = message.get("parentId")
    text, pictures = _content(message.get("content"))
    files = message.get("files")
    thoughts = _THOUGHTS.findall(text)
    return Said(
        key,
        parent if isinstance(parent, str) else None,
        str(message.get("role")),
        _THOUGHTS.sub("", text).strip(),
        at=moment_in(message.get("timestamp")),
        model=text_in(message.get("modelName") or message.get("model"))[:200],
        reasoning="\n\n".join(_QUOTED.sub("", unescape(each)).strip() for _, each in thoughts),
        reasoned_ms=sum(1000 * int(s) for about, _ in thoughts for s in _SECONDS.findall(about)),
        attachments=pictures + (len(files) if isinstance(files, list) else 0),
    )


def _content(content: Any) -> tuple[str, int]:
    if not isinstance(content, list):
        return text_in(content), 0
    texts = [text_in(part.get("text")) for part in content if isinstance(part, dict)]
    return "\n\n".join(filter(None, texts)), sum(not text for text in texts)
