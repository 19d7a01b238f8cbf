"""LM Studio: OpenAI's dialect for answers, its own REST routes for what models there are."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from engine_adapter.errors import Broken, Refused
from engine_adapter.remote import cards
from engine_adapter.remote.cards import flag, number, part, text
from engine_adapter.remote.openai import OpenAIEngine
from engine_adapter.types import ModelCard

_MODELS = "api/v1/models"


class LmstudioEngine(OpenAIEngine):
    """An LM Studio server. A model that is not loaded is loaded by asking it, which may take
    minutes; a route it does not know is answered with success and an error."""

    takes_any_name: ClassVar[bool] = True
    extras: ClassVar[frozenset[str]] = frozenset({"top_k", "min_p", "repetition_penalty"})
    renamed: ClassVar[Mapping[str, str]] = {"repetition_penalty": "repeat_penalty"}

    async def health(self) -> None:
        """See ``Engine.health``. There is no route for it."""
        await self._told("v1/models")

    async def load_model(self, model: str) -> None:
        """See ``Loader.load_model``."""
        await self._told(f"{_MODELS}/load", {"model": model}, self._timeouts.first_s)

    async def unload_model(self, model: str) -> None:
        """See ``Loader.unload_model``: every instance of it."""
        for row in _rows(await self._told(_MODELS)):
            if row.get("key") == model:
                for instance in _instances(row):
                    await self._told(f"{_MODELS}/unload", {"instance_id": instance.get("id")})

    async def _cards(self) -> list[ModelCard]:
        try:
            return cards.listed(await self._told(_MODELS), "models", name="key", card=_card)
        except (Broken, Refused):
            # Before 0.4 there was another listing, and before 0.3.6 none of its own.
            pass
        try:
            return cards.listed(await self._told("api/v0/models"), card=_card_v0)
        except (Broken, Refused):
            return await super()._cards()


def _card(model: Mapping[str, Any]) -> ModelCard:
    loaded, can = _instances(model), part(model, "capabilities")
    config = part(loaded[0], "config") if loaded else {}
    return ModelCard(
        name=model["key"],
        # What it could read at most says nothing of what it is loaded with.
        context_length=number(config.get("context_length")),
        size_bytes=number(model.get("size_bytes")),
        quantization=text(part(model, "quantization").get("name")),
        state="loaded" if loaded else "available",
        kind="embeddings" if model.get("type") == "embedding" else "text",
        vision=flag(can.get("vision")),
        tools=flag(can.get("trained_for_tool_use")),
        reasoning=bool(can["reasoning"]) if "reasoning" in can else None,
    )


def _card_v0(model: Mapping[str, Any]) -> ModelCard:
    kind = model.get("type")
    return ModelCard(
        name=model["id"],
        context_length=number(model.get("loaded_context_length")),
        quantization=text(model.get("quantization")),
        state="loaded" if model.get("state") == "loaded" else "available",
        kind="embeddings" if kind == "embeddings" else "text",
        vision=kind == "vlm" if kind in {"llm", "vlm"} else None,
    )


def _rows(listing: object) -> list[Mapping[str, Any]]:
    rows = listing.get("models") if isinstance(listing, dict) else None
    return [row for row in rows if isinstance(row, dict)] if isinstance(rows, list) else []


def _instances(model: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    rows = model.get("loaded_instances")
    return [row for row in rows if isinstance(row, dict)] if isinstance(rows, list) else []
