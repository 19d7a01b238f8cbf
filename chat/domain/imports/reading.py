"""From the bytes of a file to conversations: which product wrote it, and whether it is whole."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any, Final

from chat.domain.imports import chatgpt, open_webui, own
from chat.domain.imports.foreign import Malformed, Talk

_SOURCES: Final = (("Open WebUI", open_webui), ("ChatGPT", chatgpt), ("Konak", own))


class Unreadable(Exception):
    """The file is nothing that can be read. ``why`` is one of the words below."""

    NOT_JSON: Final = "not_json"
    ZIP: Final = "zip"
    UNKNOWN: Final = "unknown"

    def __init__(self, why: str) -> None:
        super().__init__(why)
        self.why = why


@dataclass(slots=True)
class Found:
    """What a file holds. ``broken`` are the titles of conversations that nobody can read."""

    source: str
    talks: list[Talk] = field(default_factory=list)
    broken: list[str] = field(default_factory=list)


def read(data: bytes) -> Found:
    """The conversations in an exported file. Raises ``Unreadable``."""
    if data.startswith(b"PK\x03\x04"):
        raise Unreadable(Unreadable.ZIP)
    try:
        # "utf-8-sig": some systems put a byte order mark before what they save.
        content: Any = json.loads(data.decode("utf-8-sig"))
    except (ValueError, RecursionError) as error:
        raise Unreadable(Unreadable.NOT_JSON) from error
    items = content if isinstance(content, list) else [content]
    for name, source in _SOURCES:
        if any(map(source.knows, items)):
            return _found(name, source, items)
    raise Unreadable(Unreadable.UNKNOWN)


def _found(name: str, source: Any, items: list[Any]) -> Found:
    found = Found(name)
    for item in items:
        try:
            if not source.knows(item):
                raise Malformed
            found.talks.append(source.talk(item))
        except Malformed:
            title = item.get("title") if isinstance(item, dict) else None
            found.broken.append(title if isinstance(title, str) else "")
    return found
