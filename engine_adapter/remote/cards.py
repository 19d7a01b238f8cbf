"""What engines tell about their models, as ``ModelCard``. Believes nothing. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, get_args

from engine_adapter.errors import Broken
from engine_adapter.remote.payload import CONTINUE
from engine_adapter.types import ModelCard, ModelState

MOST = 1000  # models of one engine; a gateway to a whole cloud lists some hundreds
_NAME_LIMIT = 200  # characters


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
    )


def number(value: object) -> int | None:
    """``value`` if it is a positive whole number."""
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else None


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
