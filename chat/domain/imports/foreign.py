"""What a file from elsewhere holds, in our own words. Knows neither files nor rows."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Final


class Malformed(Exception):
    """A conversation in the file is not what it should be."""


@dataclass(slots=True)
class Said:
    """A message; ``parent`` is the key of the one before it. A ``skipped`` one is not shown."""

    key: str
    parent: str | None
    role: str
    text: str
    at: datetime | None = None
    model: str = ""
    reasoning: str = ""
    reasoned_ms: int = 0
    skipped: bool = False
    attachments: int = 0


@dataclass(slots=True)
class Talk:
    """A conversation with its messages in any order. ``key`` is its name where it comes from."""

    key: str
    title: str
    said: list[Said]
    at: datetime | None = None
    used_at: datetime | None = None
    left_out: int = field(default=0)

    @property
    def attachments(self) -> int:
        """Pictures and files that were part of it."""
        return sum(each.attachments for each in self.said)


ROLES: Final = ("user", "assistant")


def grown(talk: Talk) -> list[Said]:
    """The messages that can be shown, each after its parent.

    What is skipped gives its place to the message before it, and two that follow each other in the
    same voice without a branch between them become one. Raises ``Malformed`` where messages
    answer each other in a circle, or two have one key.
    """
    by_key = {each.key: each for each in talk.said}
    if len(by_key) != len(talk.said):
        raise Malformed
    kept: dict[str, Said | None] = {}
    result: list[Said] = []
    children: dict[str, int] = {}
    for each in _parents_first(by_key):
        before = kept.get(each.parent or "")
        if each.skipped or each.role not in ROLES or not (each.text or each.attachments):
            kept[each.key] = before
            talk.left_out += bool(each.text) and not each.skipped
            continue
        each.parent = before.key if before else None
        kept[each.key] = each
        children[each.parent or ""] = children.get(each.parent or "", 0) + 1
        result.append(each)
    return _joined(result, children)


def _parents_first(by_key: dict[str, Said]) -> Iterator[Said]:
    """Without recursion: a file may hold a chain of a hundred thousand."""
    below: dict[str, list[Said]] = {}
    for each in by_key.values():
        parent = each.parent if each.parent in by_key else ""
        below.setdefault(parent or "", []).append(each)
    waiting = below.get("", [])[::-1]
    count = 0
    while waiting:
        each = waiting.pop()
        count += 1
        yield each
        waiting.extend(reversed(below.get(each.key, ())))
    if count != len(by_key):
        raise Malformed


def _joined(said: list[Said], children: dict[str, int]) -> list[Said]:
    into: dict[str, Said] = {}
    result: list[Said] = []
    for each in said:
        before = into.get(each.parent or "")
        if before and before.role == each.role and children[each.parent or ""] == 1:
            before.text = "\n\n".join(filter(None, (before.text, each.text)))
            before.reasoning = "\n\n".join(filter(None, (before.reasoning, each.reasoning)))
            before.reasoned_ms += each.reasoned_ms
            before.attachments += each.attachments
            into[each.key] = before
            continue
        each.parent = before.key if before else None
        into[each.key] = each
        result.append(each)
    return result


def text_in(value: Any) -> str:
    """A text as PostgreSQL and browsers take it: no NUL, no half of a surrogate pair."""
    if not isinstance(value, str):
        return ""
    return value.replace("\x00", "").encode("utf-8", "replace").decode("utf-8")


def moment_in(value: Any) -> datetime | None:
    """A moment from seconds, milli-, micro- or nanoseconds since 1970, or from ISO 8601."""
    try:
        if isinstance(value, str):
            found = datetime.fromisoformat(value)
            return found if found.tzinfo else found.replace(tzinfo=UTC)
        if isinstance(value, bool) or not isinstance(value, int | float) or value <= 0:
            return None
        seconds = float(value)
        if not math.isfinite(seconds):
            return None
        while seconds > 1e11:  # the year 5138 in seconds
            seconds /= 1000
        return datetime.fromtimestamp(seconds, UTC)
    except (ValueError, OverflowError, OSError):
        return None
