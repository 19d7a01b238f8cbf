"""Ollama by its own routes, which tell more and lose less than its layer for OpenAI's dialect.

Models that it passes on to its makers' cloud are neither shown nor asked.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from typing import TYPE_CHECKING, Any, ClassVar

from engine_adapter.remote import ollama_cards
from engine_adapter.remote.cards import listed
from engine_adapter.remote.http_engine import HttpEngine
from engine_adapter.remote.ollama_answer import OllamaAnswer
from engine_adapter.remote.ollama_payload import payload
from engine_adapter.remote.ollama_pull import Pull
from engine_adapter.types import ModelCard, Pulled, Request

if TYPE_CHECKING:
    import httpx


class OllamaEngine(HttpEngine):
    """An Ollama server. It loads a model when it is asked, and has no key of its own."""

    takes_any_name: ClassVar[bool] = True  # so that a name for its cloud is refused here
    _shown: Mapping[str, Mapping[str, Any]] = {}
    _lengths: Mapping[str, int] = {}

    async def health(self) -> None:
        """See ``Engine.health``."""
        await self._told("api/version")

    async def load_model(self, model: str) -> None:
        """See ``Loader.load_model``."""
        fields = {"model": model, "messages": [], "stream": False}
        await self._told("api/chat", fields, self._timeouts.first_s)

    async def unload_model(self, model: str) -> None:
        """See ``Loader.unload_model``."""
        fields = {"model": model, "messages": [], "keep_alive": 0, "stream": False}
        await self._told("api/chat", fields)

    async def pull(self, model: str) -> AsyncGenerator[Pulled, None]:
        """See ``Puller.pull``."""
        response = await self._post("api/pull", {"model": model, "stream": True})
        try:
            pulled = Pull()
            async with aclosing(self._chunks(response, pulled)) as chunks:
                async for chunk in chunks:
                    for step in pulled.steps(chunk):
                        yield step
            pulled.check()
        finally:
            await response.aclose()

    async def _open(self, request: Request) -> httpx.Response:
        return await self._post("api/chat", payload(request))

    def _reader(self, request: Request) -> OllamaAnswer:
        return OllamaAnswer()

    async def _cards(self) -> list[ModelCard]:
        """What is on its disk, what it says about each, and what is in memory now."""
        tags = await self._told("api/tags")
        here = ollama_cards.at_home(tags)
        running = ollama_cards.running(await self._told("api/ps"))
        # The length in force is told of what is loaded only; it comes back with the same one.
        self._lengths = {**self._lengths, **running}
        shown = {}
        for key, name in ollama_cards.to_be_shown(here):
            shown[key] = self._shown.get(key) or await self._told("api/show", {"model": name})
        self._shown = shown
        return listed(
            {"models": here},
            "models",
            name="name",
            card=lambda row: ollama_cards.card(
                row, shown.get(ollama_cards.key(row), {}), running, self._lengths
            ),
        )
