"""What engines tell about their models, as ``ModelCard``. Believes nothing. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, get_args

from engine_adapter.errors import Broken
from engine_adapter.reasons import from_json
from engine_adapter.remote.payload import CONTINUE
from engine_adapter.types import FileFacts, ModelCard, ModelState, Outlook, Verdict

MOST = 1000  # models of one engine; a gateway to a whole cloud lists some hundreds
_NAME_LIMIT = 200  # characters
_WORD_LIMIT = 24
_REASON_LIMIT = 500
MOST_TOKENS = (1 << 31) - 1
_SHA256 = re.compile(r"[0-9a-f]{64}")


def listed(
    told: object,
    key: str = "data",
    *,
    name: str = "id",
    card: Callable[..., ModelCard] | None = None,
) -> list[ModelCard]:
    """The cards of a listing: ``told[key]`` is a list of objects, each with a ``name``.

    Entries without a usable name and repeated ones are passed over. Raises ``Broken``.
    """
    rows = told.get(key) if isinstance(told, dict) else None
    if not isinstance(rows, list):
        raise Broken(f"The engine's model list has no {key!r}.").because("dialect")
    if len(rows) > MOST:
        raise Broken(f"The engine lists {len(rows)} models; {MOST} are the most.").because(
            "too_much"
        )
    found = {row[name]: row for row in rows if isinstance(row, dict) and _nameable(row.get(name))}
    return [(card or openai)(row) for row in found.values()]


def openai(model: Mapping[str, Any]) -> ModelCard:
    """A row of ``/v1/models``, as the bundled engine, llama.cpp, vLLM and SGLang write it."""
    meta = model["meta"] if isinstance(model.get("meta"), dict) else {}
    capabilities = model.get("capabilities")
    return ModelCard(
        name=model["id"],
        context_length=number(model.get("max_model_len")) or number(meta.get("n_ctx")),
        size_bytes=number(meta.get("size")),
        quantization=text(meta.get("quantization")) or text(meta.get("ftype")),
        sha256=text(meta.get("sha256")),
        continues=isinstance(capabilities, list) and CONTINUE in capabilities,
        state=next((state for state in get_args(ModelState) if state == meta.get("state")), None),
        kind="embeddings" if meta.get("kind") == "embeddings" else "text",
        parent=text(model.get("parent")),
        reason=text(meta.get("reason")),
        why=from_json(meta.get("why")),
        facts=_facts(part(meta, "facts")),
        outlook=_outlook(part(meta, "outlook")),
        pinned=flag(meta.get("pinned")),
    )


def _facts(told: Mapping[str, Any]) -> FileFacts | None:
    architecture = text(told.get("architecture"))
    if architecture is None:
        return None
    return FileFacts(
        architecture=architecture[:_NAME_LIMIT],
        parameters=number(told.get("parameters")),
        layers=number(told.get("layers")),
        trained_length=number(told.get("trained_length")),
        has_template=flag(told.get("has_template")),
    )


def _outlook(told: Mapping[str, Any]) -> Outlook | None:
    need, free = number(told.get("need_bytes")), number(told.get("free_bytes"))
    verdict = next((word for word in get_args(Verdict) if word == told.get("verdict")), None)
    return None if need is None or verdict is None else Outlook(need, free or 0, verdict)


def believable(card: ModelCard) -> ModelCard:
    """The card without what no model can be: whoever keeps it has so much room and no more."""
    sha256 = card.sha256
    return replace(
        card,
        context_length=number(card.context_length, MOST_TOKENS),
        quantization=_word(card.quantization, _WORD_LIMIT),
        sha256=sha256 if sha256 is None or _SHA256.fullmatch(sha256) else None,
        parent=_word(card.parent, _NAME_LIMIT),
        reason=_word(card.reason, _REASON_LIMIT),
    )


def _word(value: str | None, most: int) -> str | None:
    return value[:most] if value is not None and value.isprintable() else None


def number(value: object, most: int = 1 << 53) -> int | None:
    """``value`` if it is a whole number from 1 to ``most``."""
    if not isinstance(value, int) or isinstance(value, bool):
        return None
    return value if 0 < value <= most else None


def text(value: object) -> str | None:
    """``value`` if it is a text that says something."""
    return value if isinstance(value, str) and value else None


def flag(value: object) -> bool | None:
    """``value`` if it is true or false."""
    return value if isinstance(value, bool) else None


def part(value: object, name: str) -> Mapping[str, Any]:
    """The object called ``name`` inside ``value``, an empty one where there is none."""
    inner = value.get(name) if isinstance(value, dict) else None
    return inner if isinstance(inner, dict) else {}


def _nameable(name: object) -> bool:
    return isinstance(name, str) and 0 < len(name) <= _NAME_LIMIT and name.isprintable()
