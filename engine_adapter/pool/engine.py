"""An engine made of several that serve the same model, under names of their own.

Another one steps in only before the first token: what a reader has seen is never begun anew here.
"""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict
from collections.abc import AsyncGenerator, Callable, Iterable, Iterator, Sequence
from contextlib import aclosing, contextmanager, suppress
from dataclasses import dataclass, replace
from typing import Final

from engine_adapter import conversation
from engine_adapter.engine import Engine, Gauged
from engine_adapter.errors import (
    Broken,
    EngineError,
    ModelChanged,
    Overloaded,
    Refused,
    Unreachable,
)
from engine_adapter.pool.choosing import choose
from engine_adapter.pool.known import LOOK_S, Known
from engine_adapter.types import Event, Failed, Gauges, ModelCard, Progress, Request

_KEPT: Final = 4096  # conversations whose engine is remembered
_LOOK_WITHIN_S: Final = 5.0


@dataclass(frozen=True, slots=True)
class Member:
    """One engine of a pool, by an opaque ``tag``, and what the model is called there.

    ``known`` may be shared by all pools of a process. ``continues``: it can go on with an answer.
    ``sha256`` is what its file must have; see ``Request.model_sha256``.
    """

    tag: str
    name: str
    engine: Engine
    known: Known
    continues: bool = True
    sha256: str | None = None


class Pool:
    """Serves one model, ``name``, by its members. Each stream says with a ``Progress`` whom it
    asks. What a request calls the model does not matter: each member is asked by its own name."""

    def __init__(
        self, name: str, members: Iterable[Member], clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.name = name
        self._clock = clock
        self._members: dict[str, Member] = {}
        self._last: OrderedDict[str, str] = OrderedDict()
        self._open = 0
        self._watching: asyncio.Task[None] | None = None
        self._is_closed = False
        self.serve_with(members)

    def serve_with(self, members: Iterable[Member]) -> None:
        """These are its members from now on. What is being written goes on where it is."""
        self._members = {member.tag: member for member in members}

    async def stream(self, request: Request) -> AsyncGenerator[Event, None]:
        """See ``Engine.stream``: one member after the other, until one of them begins to answer."""
        talk = conversation.name_of(request)
        left = self._able(request)
        troubles: list[EngineError] = []
        while (member := self._next(left, talk)) is not None:
            del left[member.tag]
            yield Progress(0, engine=member.tag)
            trouble: EngineError | None = None
            begun = False
            asked = replace(request, model=member.name, model_sha256=member.sha256)
            with self._busy(member):
                async with aclosing(member.engine.stream(asked)) as events:
                    async for event in events:
                        if isinstance(event, Failed) and self._failed(member, event.error):
                            trouble = None if begun else event.error
                        elif not begun and not isinstance(event, Progress | Failed):
                            begun = True
                            self._answers(member, talk)
                        if trouble is None:
                            yield event
            if trouble is None:
                return
            troubles.append(trouble)
        yield Failed(self._why(self._able(request).values(), troubles))

    def _able(self, request: Request) -> dict[str, Member]:
        """The members that can be asked this."""
        return {
            tag: member
            for tag, member in self._members.items()
            if member.continues or not request.continue_final
        }

    @contextmanager
    def _busy(self, member: Member) -> Iterator[None]:
        self._open += 1
        try:
            self._watch()
            with member.known.asked():
                yield
        finally:
            self._open -= 1

    def _next(self, left: dict[str, Member], talk: str) -> Member | None:
        known = {tag: member.known for tag, member in left.items()}
        tag = choose(known, last=self._last.get(talk), talk=talk, now=self._clock())
        return left[tag] if tag is not None else None

    def _failed(self, member: Member, error: EngineError) -> bool:
        """Note a failure; whether it is the engine's own, so that another may do better."""
        if isinstance(error, ModelChanged):
            return True  # the engine is well, and another one may have the file
        own = isinstance(error, Unreachable | Broken | Overloaded) or error.cause is not None
        if own:
            member.known.failed(error, self._clock())
        return own

    def _answers(self, member: Member, talk: str) -> None:
        member.known.answered()
        self._last[talk] = member.tag
        self._last.move_to_end(talk)
        if len(self._last) > _KEPT:
            self._last.popitem(last=False)

    def _why(self, able: Iterable[Member], troubles: Sequence[EngineError]) -> EngineError:
        """Why nobody answered: as long as one is only full, waiting helps."""
        now = self._clock()
        waits = [
            member.known.rests_until - now
            for member in able
            if member.known.readiness(now) == "refusing"
        ]
        if waits or any(isinstance(each, Overloaded) for each in troubles):
            soonest = min(waits, default=None)
            return Overloaded("Every engine of this model is full.", retry_after=soonest)
        away = [each for each in troubles if not isinstance(each, Refused)]
        nobody = Refused("None of the engines can answer this.").because("model")
        return next(iter([*away, *troubles]), nobody)

    # Looking at them

    def _watch(self) -> None:
        """Look at the members in the background, as long as anything is being written."""
        if not self._is_closed and (self._watching is None or self._watching.done()):
            self._watching = asyncio.create_task(self._keep_looking())

    async def _keep_looking(self) -> None:
        while self._open:
            await self.look()
            await asyncio.sleep(LOOK_S)

    async def look(self) -> None:
        """See how busy each member is, and whether one that failed is well again."""
        now = self._clock()
        due = [member for member in self._members.values() if member.known.is_due(now)]
        await asyncio.gather(*(self._look(member) for member in due))

    async def _look(self, member: Member) -> None:
        """One that only is slow to tell its gauges, as some are in the middle of a long prompt, is
        well as long as it says so."""
        engine, known = member.engine, member.known
        told: Gauges | None = None
        if isinstance(engine, Gauged):
            with suppress(EngineError, TimeoutError):
                async with asyncio.timeout(_LOOK_WITHIN_S):
                    told = await engine.gauges()
        if told is not None:
            known.told(told, self._clock())
        if told is None or known.readiness(self._clock()) == "doubtful":
            await self._feel(member)

    async def _feel(self, member: Member) -> None:
        try:
            async with asyncio.timeout(_LOOK_WITHIN_S):
                await member.engine.health()
        except TimeoutError:
            silent = Unreachable("No answer in time.").because("silent")
            member.known.failed(silent, self._clock())
        except (Unreachable, Broken) as error:
            member.known.failed(error, self._clock())
        except EngineError:
            return  # it is there, and busy
        else:
            member.known.is_well()

    # The rest of an engine

    async def models(self) -> Sequence[ModelCard]:
        """See ``Engine.models``: one, that can what all of them can who say something."""
        told = await asyncio.gather(*(_card(member) for member in self._members.values()))
        cards = [each for each in told if isinstance(each, ModelCard)]
        if not cards:
            troubles = [each for each in told if isinstance(each, EngineError)]
            raise self._why(self._members.values(), troubles)
        lengths = [card.context_length for card in cards if card.context_length is not None]
        return [
            replace(
                cards[0],
                name=self.name,
                context_length=min(lengths, default=None),
                continues=all(card.continues for card in cards),
            )
        ]

    async def health(self) -> None:
        """See ``Engine.health``: one that is well is enough."""
        told = await asyncio.gather(*(_health(member) for member in self._members.values()))
        if None not in told:
            troubles = [each for each in told if each is not None]
            raise self._why(self._members.values(), troubles)

    async def aclose(self) -> None:
        """See ``Engine.aclose``. Its members are closed with it."""
        self._is_closed = True
        if self._watching is not None:
            self._watching.cancel()
            with suppress(asyncio.CancelledError):
                await self._watching
        for member in self._members.values():
            await member.engine.aclose()


async def _card(member: Member) -> ModelCard | EngineError | None:
    try:
        cards = await member.engine.models()
    except EngineError as error:
        return error
    return next((card for card in cards if card.name == member.name), None)


async def _health(member: Member) -> EngineError | None:
    try:
        await member.engine.health()
    except EngineError as error:
        return error
    return None
