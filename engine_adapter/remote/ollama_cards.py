"""What Ollama tells about its models, out of three routes: tags, show and ps. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from engine_adapter.errors import Broken
from engine_adapter.remote.cards import number, part, text
from engine_adapter.types import ModelCard

Row = Mapping[str, Any]
_SHA256 = re.compile(r"[0-9a-f]{64}")
_NUM_CTX = re.compile(r"^num_ctx\s+(\d{1,9})\s*$", re.MULTILINE)


def at_home(tags: object) -> list[Row]:
    """The rows of ``/api/tags`` whose models this machine computes itself. Raises ``Broken``."""
    rows = tags.get("models") if isinstance(tags, dict) else None
    if rows is None and isinstance(tags, dict) and "models" in tags:
        rows = []  # with no model at all the list is null
    if not isinstance(rows, list):
        raise Broken("The engine's model list has no 'models'.").because("dialect")
    return [row for row in rows if isinstance(row, dict) and not _elsewhere(row)]


def running(ps: object) -> dict[str, int]:
    """The models in memory and the context length each was loaded with, 0 where untold."""
    rows = ps.get("models") if isinstance(ps, dict) else None
    return {
        row["name"]: number(row.get("context_length")) or 0
        for row in (rows if isinstance(rows, list) else [])
        if isinstance(row, dict) and isinstance(row.get("name"), str)
    }


def key(row: Row) -> str:
    """What a model's details are kept by: they change with its content."""
    return f"{row.get('name')} {row.get('digest')}"


def to_be_shown(rows: Sequence[Row]) -> list[tuple[str, str]]:
    """Key and name of each model that can be asked about."""
    return [(key(row), row["name"]) for row in rows if isinstance(row.get("name"), str)]


def card(
    row: Row, shown: Row, in_memory: Mapping[str, int], lengths: Mapping[str, int]
) -> ModelCard:
    """One model. ``lengths`` are the context lengths that are known from earlier looks too."""
    details = part(row, "details")
    can = shown.get("capabilities") or row.get("capabilities")
    abilities = can if isinstance(can, list) else None
    asked = _NUM_CTX.search(text(shown.get("parameters")) or "")
    return ModelCard(
        name=row["name"],
        context_length=lengths.get(row["name"]) or (int(asked[1]) if asked else None),
        size_bytes=number(row.get("size")),
        quantization=text(details.get("quantization_level")),
        sha256=_digest(row.get("digest")),
        state="loaded" if row["name"] in in_memory else "available",
        kind="embeddings" if abilities and "completion" not in abilities else "text",
        vision=None if abilities is None else "vision" in abilities,
        tools=None if abilities is None else "tools" in abilities,
        reasoning=None if abilities is None else "thinking" in abilities,
    )


def _digest(value: object) -> str | None:
    return value if isinstance(value, str) and _SHA256.fullmatch(value) else None


def _elsewhere(row: Row) -> bool:
    return bool(row.get("remote_host") or row.get("remote_model"))
