"""llama.cpp's own server: OpenAI's dialect, with routes that tell slots, template and modalities.

Its header for streams that outlive their reader is never sent: it would keep a cancel from working.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Any, ClassVar
from urllib.parse import quote

from engine_adapter.errors import Broken, EngineError, Refused
from engine_adapter.reasons import why
from engine_adapter.remote import cards
from engine_adapter.remote.cards import flag, number, part
from engine_adapter.remote.gauge_text import Names, together
from engine_adapter.remote.openai import OpenAIEngine
from engine_adapter.remote.payload import CONTINUE
from engine_adapter.types import Gauges, ModelCard, ModelState

NAMES = Names(
    running="llamacpp:requests_processing",
    waiting="llamacpp:requests_deferred",
    written="llamacpp:tokens_predicted_total",
    hits="llamacpp:prompt_tokens_cached_total",
    misses="llamacpp:prompt_tokens_total",
)
_STATES: dict[str, ModelState] = {
    "loaded": "loaded",
    "loading": "loading",
    "unloaded": "available",
    "sleeping": "available",
}


class LlamacppEngine(OpenAIEngine):
    """A ``llama-server``, with one model or as a router of many.

    It answers to any name with its one model, knows no priority, and shares its cached prefixes
    with everybody.
    """

    takes_any_name: ClassVar[bool] = True
    extras: ClassVar[frozenset[str]] = frozenset(
        {
            *(CONTINUE, "return_progress", "grammar", "ignore_eos"),
            *("top_k", "min_p", "typical_p", "repetition_penalty"),
            *("dry_multiplier", "dry_base", "dry_allowed_length"),
        }
    )
    renamed: ClassVar[Mapping[str, str]] = {"repetition_penalty": "repeat_penalty"}
    _which: tuple[str, ...] = ()
    """How a router's loaded models are meant; none where there is one model alone."""

    async def gauges(self) -> Gauges:
        """See ``Gauged.gauges``. Slots tell most; counts only where it was started with metrics.
        A router tells each loaded model's own: then it is theirs together."""
        return together([await self._gauges_of(which) for which in self._which or ("",)])

    async def _gauges_of(self, which: str) -> Gauges:
        counted = await self._measured(f"metrics{which}", NAMES)
        try:
            slots = await self._told(f"slots{which}")
        except (Refused, Broken):
            return counted
        rows = [slot for slot in slots if isinstance(slot, dict)] if isinstance(slots, list) else []
        busy = [slot for slot in rows if slot.get("is_processing") is True]
        room = sum(number(slot.get("n_ctx")) or 0 for slot in rows)
        taken = sum(number(slot.get("n_prompt_tokens")) or 0 for slot in busy)
        return replace(
            counted,
            running=len(busy),
            slots=len(rows),
            kv_use=min(1.0, taken / room) if room else None,
        )

    async def load_model(self, model: str) -> None:
        """See ``Loader.load_model``. Raises ``Refused`` where it is no router."""
        await self._told("models/load", {"model": model}, self._timeouts.first_s)

    async def unload_model(self, model: str) -> None:
        """See ``Loader.unload_model``. Raises ``Refused`` where it is no router."""
        await self._told("models/unload", {"model": model})

    async def _cards(self) -> list[ModelCard]:
        listing = await self._told("v1/models")
        rows = cards.listed(listing, card=_card)
        # Only of a model in memory is there more to tell.
        loaded = [row.name for row in rows if row.state == "loaded"]
        which = {name: _only(name) for name in loaded if _routes(listing)}
        self._which = tuple(which.values())
        return [
            await self._detailed(row, which.get(row.name, "")) if row.name in loaded else row
            for row in rows
        ]

    async def _detailed(self, card: ModelCard, which: str) -> ModelCard:
        props: Any = {}
        with suppress(EngineError):
            props = await self._told(f"props{which}")
        settings = part(props, "default_generation_settings")
        template = part(props, "chat_template_caps")
        return replace(
            card,
            context_length=number(settings.get("n_ctx")) or card.context_length,
            vision=flag(part(props, "modalities").get("vision")),
            tools=flag(template.get("supports_tools")),
        )


def _only(name: str) -> str:
    # Without this a look at a model that is just being unloaded would load it again.
    return f"?model={quote(name, safe='')}&autoload=false"


def _routes(listing: Mapping[str, Any]) -> bool:
    return any(isinstance(row, dict) and "status" in row for row in listing["data"])


def _card(model: Mapping[str, Any]) -> ModelCard:
    status = part(model, "status")
    state = _STATES.get(str(status.get("value", "loaded")), "available")
    if status.get("failed") is True:
        told = why("exit_code", status=number(status.get("exit_code")) or "?")
        return replace(cards.openai(model), state="failed", reason=str(told), why=told)
    return replace(cards.openai(model), state=state, continues=True)
