"""What every engine behind HTTP shares: its connections, one streamed answer, JSON asked and told.

A dialect says what is sent and what comes back means. Knows none itself.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import aclosing, suppress
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

from engine_adapter.errors import Broken, EngineError, Refused
from engine_adapter.remote import client as line
from engine_adapter.remote import faults
from engine_adapter.remote.cards import believable
from engine_adapter.remote.client import PATIENCE, Timeouts
from engine_adapter.remote.gauge_text import Names, by_model, gauges
from engine_adapter.types import Event, Failed, Gauges, ModelCard, Request

if TYPE_CHECKING:
    import httpx

Breath = Callable[[], Awaitable[None]]
ANSWER_LIMIT = 1 << 28  # bytes of a stream: half a million tokens in frames of 500 bytes
_DRAIN_S = 0.5  # after its last frame only the end of a reply is missing; then the line is free


class Sink(Protocol):
    """Whom the bytes of a stream are for."""

    begun: bool

    @property
    def over(self) -> bool: ...

    def fail(self, error: EngineError) -> None: ...


class Reader(Sink, Protocol):
    """Reads one answer; ``answer.Answer`` says how."""

    def feed(self, chunk: bytes) -> Iterator[Event]: ...

    def end(self) -> Iterator[Event]: ...


class HttpEngine(ABC):
    """An engine at ``base_url`` (``http(s)://host[/path]`` or ``unix:///path``).

    ``ca_file`` (PEM) replaces the system's trust store. ``breath`` is waited for before each look
    at an answer that has begun, by whoever reads many and wants them all at once.
    """

    takes_any_name: ClassVar[bool] = False
    """Whether the engine answers with what it has when it is asked for a model it has not."""

    def __init__(
        self,
        base_url: str,
        *,
        api_key: str | None = None,
        ca_file: str | None = None,
        timeouts: Timeouts = PATIENCE,
        breath: Breath | None = None,
    ) -> None:
        self._client = line.open_client(
            base_url.rstrip("/").removesuffix("/v1"),
            api_key=api_key,
            ca_file=ca_file,
            timeouts=timeouts,
        )
        self._timeouts = timeouts
        self._breath = breath
        self._names: frozenset[str] = frozenset()

    @abstractmethod
    async def _open(self, request: Request) -> httpx.Response:
        """The open reply that streams the answer. Raises ``EngineError``."""

    @abstractmethod
    def _reader(self, request: Request) -> Reader:
        """What reads that reply."""

    @abstractmethod
    async def _cards(self) -> list[ModelCard]:
        """The models, as the engine tells them. Raises ``EngineError``."""

    @abstractmethod
    async def health(self) -> None:
        """See ``Engine.health``."""

    async def models(self) -> Sequence[ModelCard]:
        """See ``Engine.models``."""
        cards = [believable(card) for card in await self._cards()]
        self._names = frozenset(card.name for card in cards)
        return cards

    async def gauges(self) -> Gauges:
        """See ``Gauged.gauges``. Of an engine that counts nothing, nothing is known."""
        return Gauges()

    async def gauges_by_model(self) -> Mapping[str, Gauges]:
        """See ``GaugedEach.gauges_by_model``."""
        return {}

    async def stream(self, request: Request) -> AsyncGenerator[Event, None]:
        """See ``Engine.stream``. Closing the iterator closes the HTTP reply, which cancels."""
        try:
            if self.takes_any_name:
                await self._must_serve(request.model)
            response = await self._open(request)
        except EngineError as error:
            yield Failed(error)
            return
        try:
            answer = self._reader(request)
            async with aclosing(self._chunks(response, answer)) as chunks:
                async for chunk in chunks:
                    for event in answer.feed(chunk):
                        yield event
            for event in answer.end():
                yield event
            with suppress(EngineError):
                await line.next_chunk(response, _DRAIN_S)
        finally:
            await response.aclose()

    async def aclose(self) -> None:
        """See ``Engine.aclose``."""
        await self._client.aclose()

    async def _chunks(self, response: httpx.Response, answer: Sink) -> AsyncGenerator[bytes, None]:
        """The bytes of a stream until ``answer`` needs no more of them."""
        size = 0
        while not answer.over:
            begun, patience = answer.begun, self._timeouts
            if begun and self._breath is not None:
                await self._breath()
            try:
                chunk = await line.next_chunk(
                    response,
                    patience.between_s if begun else patience.first_s,
                    then_pause=begun and self._breath is not None,
                )
            except EngineError as error:
                answer.fail(error)
                return
            if chunk is None:
                return
            size += len(chunk)
            if size > ANSWER_LIMIT:
                answer.fail(Broken("The engine's answer does not end.").because("too_much"))
                return
            yield chunk

    async def _must_serve(self, model: str) -> None:
        if model not in self._names:
            await self.models()
        if model not in self._names:
            raise Refused("The engine does not serve this model.").because("model")

    async def _post(
        self, path: str, fields: Mapping[str, Any], headers: Mapping[str, str] | None = None
    ) -> httpx.Response:
        """The open reply to ``fields``. Raises ``EngineError`` for any status but success."""
        body = json.dumps(fields, ensure_ascii=False).encode("utf-8", "replace")
        response = await line.send(self._client, "POST", path, body=body, headers=headers)
        if response.status_code != 200:
            reply = await line.read_reply(response, within_s=self._timeouts.reply_s)
            raise faults.from_reply(response.status_code, response.headers, reply)
        return response

    async def _measured(self, path: str, names: Names) -> Gauges:
        """What the page of metrics at ``path`` tells; nothing where there is none."""
        try:
            return gauges(await self._body(path), names)
        except (Refused, Broken):
            return Gauges()

    async def _measured_each(self, path: str, names: Names) -> Mapping[str, Gauges]:
        """The same for each model that the page names."""
        try:
            return by_model(await self._body(path), names)
        except (Refused, Broken):
            return {}

    async def _told(
        self, path: str, fields: Mapping[str, Any] | None = None, within_s: float | None = None
    ) -> Any:
        """The JSON at ``path``, or the JSON told in return for ``fields``."""
        return told(await self._body(path, fields, within_s))

    async def _body(
        self, path: str, fields: Mapping[str, Any] | None = None, within_s: float | None = None
    ) -> bytes:
        response, body = await line.fetch(
            self._client,
            path,
            within_s=within_s or self._timeouts.reply_s,
            method="GET" if fields is None else "POST",
            body=None if fields is None else json.dumps(fields).encode(),
        )
        if response.status_code != 200:
            raise faults.from_reply(response.status_code, response.headers, body)
        return body


def told(body: bytes) -> Any:
    """The JSON in a reply. Raises ``Broken``."""
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        raise faults.stranger(body) from None
