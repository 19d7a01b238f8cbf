"""An engine that plays a script at a set pace: for demonstrations, benchmarks and tests.

It computes nothing, so what is measured in front of it is everything but the engine. It keeps
the whole contract of ``Engine`` and counts its own streams, so that a cancel can be seen.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Iterable, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from pathlib import Path

from engine_adapter import script
from engine_adapter.errors import (
    Broken,
    ContextTooLong,
    EngineError,
    Overloaded,
    Refused,
    Unreachable,
)
from engine_adapter.script import Rule, Script
from engine_adapter.types import (
    Event,
    Failed,
    Finished,
    FinishReason,
    ModelCard,
    Progress,
    Reasoning,
    Request,
    Text,
    Usage,
)

_FAILURES: dict[str, type[EngineError]] = {
    "broken": Broken,
    "overloaded": Overloaded,
    "refused": Refused,
    "unreachable": Unreachable,
}


class ScriptedEngine:
    """Plays ``script`` to everybody who asks.

    Its tokens are the script's pieces on the way out and words on the way in. Public counters:
    ``running`` (answers being written now), ``waiting`` (in line for a slot), ``started`` and
    ``cancelled`` (closed by the reader before their end), both since the engine was made.
    """

    def __init__(self, script: Script) -> None:
        self.script = script
        self.running = 0
        self.started = 0
        self.cancelled = 0
        self._closed = False
        self._line: list[object] = []
        self._sleepers: set[asyncio.Future[None]] = set()
        self._moved: set[asyncio.Future[None]] = set()

    @classmethod
    def from_file(cls, path: Path | str) -> ScriptedEngine:
        """An engine for the JSON script at ``path``. Raises ``ValueError`` with a sentence."""
        return cls(script.read(Path(path)))

    @property
    def waiting(self) -> int:
        """Requests in line for a slot."""
        return len(self._line)

    async def stream(self, request: Request) -> AsyncGenerator[Event, None]:
        """See ``Engine.stream``."""
        refusal = self._refusal(request)
        if refusal is not None:
            yield Failed(refusal)
            return
        self.started += 1
        ended = False
        try:
            async with aclosing(self._in_turn(request)) as events:
                async for event in events:
                    ended = isinstance(event, Finished | Failed)
                    yield event
        finally:
            self.cancelled += not ended

    async def models(self) -> Sequence[ModelCard]:
        """See ``Engine.models``."""
        await self.health()
        script = self.script
        length, continues = script.context_length, script.continues
        return [ModelCard(name=script.model, context_length=length, continues=continues)]

    async def health(self) -> None:
        """See ``Engine.health``."""
        if self._closed:
            raise Unreachable("The scripted engine is closed.")

    async def aclose(self) -> None:
        """See ``Engine.aclose``."""
        self._closed = True
        _wake(self._sleepers | self._moved)

    def _refusal(self, request: Request) -> EngineError | None:
        if self._closed:
            return Unreachable("The scripted engine is closed.")
        if request.model != self.script.model:
            return Refused(f"The scripted engine plays {self.script.model!r} only.")
        words, length = prompt_tokens(request), self.script.context_length
        if words >= length:
            return ContextTooLong(
                f"The prompt has {words} tokens, the script's context {length}.",
                prompt_tokens=words,
                context_length=length,
            )
        return None

    async def _in_turn(self, request: Request) -> AsyncGenerator[Event, None]:
        ticket = object()
        self._line.append(ticket)
        try:
            told = 0
            while not self._closed and (ahead := self._ahead(ticket)):
                if ahead == told:
                    await self._line_to_move()
                else:  # the line may move while the reader is busy with this: look again after it
                    told = ahead
                    yield Progress(ahead=ahead)
        finally:
            self._line.remove(ticket)
            _wake(self._moved)
        self.running += 1
        try:
            async with aclosing(self._play(request)) as events:
                async for event in events:
                    yield event
        finally:
            self.running -= 1
            _wake(self._moved)

    async def _play(self, request: Request) -> AsyncGenerator[Event, None]:
        rule = self.script.rule_for(_question(request))
        part = _part(rule, request, self.script.context_length)
        loop = asyncio.get_running_loop()
        due = loop.time() + rule.first_delay_s
        step = 1 / rule.pace if rule.pace else 0.0
        for event in part.events:
            await self._sleep_until(due)
            if self._closed:
                yield Failed(Broken("The scripted engine was closed in the middle."))
                return
            yield event
            due += step
        if part.failure is not None:
            await self._sleep_until(due)
            yield Failed(_FAILURES[part.failure]("The script says that this answer fails here."))
            return
        yield Finished(part.finish, Usage(prompt_tokens(request), part.tokens))

    def _ahead(self, ticket: object) -> int:
        if self.script.slots is None:
            return 0
        return max(0, self._line.index(ticket) + 1 + self.running - self.script.slots)

    async def _line_to_move(self) -> None:
        future = asyncio.get_running_loop().create_future()
        self._moved.add(future)
        try:
            await future
        finally:
            self._moved.discard(future)

    async def _sleep_until(self, due: float) -> None:
        # Not asyncio.sleep: aclose() must be able to wake every sleeper.
        if self._closed:
            return
        loop = asyncio.get_running_loop()
        future = loop.create_future()
        timer = loop.call_at(due, _wake, (future,))
        self._sleepers.add(future)
        try:
            await future
        finally:
            timer.cancel()
            self._sleepers.discard(future)


@dataclass(frozen=True, slots=True)
class _Part:
    """The stretch of a rule that one request gets to see."""

    events: list[Reasoning | Text]
    tokens: int
    finish: FinishReason
    failure: str | None


def prompt_tokens(request: Request) -> int:
    """The prompt's length as this engine counts it: its words."""
    return sum(len(turn.content.split()) for turn in request.turns)


def _question(request: Request) -> str:
    return next((t.content for t in reversed(request.turns) if t.role == "user"), "")


def _part(rule: Rule, request: Request, context_length: int) -> _Part:
    pieces, skipped = _after_prefix(rule, request)
    thoughts = () if request.continue_final else rule.reasoning
    room = context_length - prompt_tokens(request)
    if request.sampling.max_tokens is not None:
        room = min(room, request.sampling.max_tokens)
    finish = rule.finish
    if room < len(thoughts) + len(pieces):
        thoughts, pieces = thoughts[:room], pieces[: max(0, room - len(thoughts))]
        finish = "length"
    tokens = len(pieces)
    stop = _first_stop("".join(pieces), request.sampling.stop)
    if stop is not None:
        tokens = _pieces_within(pieces, stop[1])
        pieces, finish = _cut(pieces, stop[0]), "stop"
    failure = None
    # A continued answer has got past a failure at or before the place where it goes on.
    if rule.fail_after is not None and (rule.fail_after > skipped or not skipped):
        left = rule.fail_after - skipped
        if left <= len(pieces):
            pieces, failure = pieces[:left], rule.failure
    events: list[Reasoning | Text] = [Reasoning(piece) for piece in thoughts]
    events += [Text(piece) for piece in pieces]
    return _Part(events, len(thoughts) + tokens, finish, failure)


def _after_prefix(rule: Rule, request: Request) -> tuple[tuple[str, ...], int]:
    """The pieces still to come, and how many are wholly in the prefix already."""
    prefix = request.turns[-1].content if request.continue_final and request.turns else ""
    if not prefix or not "".join(rule.pieces).startswith(prefix):
        return rule.pieces, 0
    skipped, left = 0, len(prefix)
    while skipped < len(rule.pieces) and left >= len(rule.pieces[skipped]):
        left -= len(rule.pieces[skipped])
        skipped += 1
    rest = rule.pieces[skipped:]
    return (rest[0][left:], *rest[1:]) if rest else (), skipped


def _first_stop(text: str, stops: Sequence[str]) -> tuple[int, int] | None:
    """Where the stop string that is complete first begins and ends."""
    found = [(text.find(stop), stop) for stop in stops if stop]
    return min(
        ((at, at + len(stop)) for at, stop in found if at >= 0),
        key=lambda span: (span[1], span[0]),
        default=None,
    )


def _pieces_within(pieces: Sequence[str], length: int) -> int:
    """How many pieces it takes to write ``length`` characters."""
    written = 0
    for count, piece in enumerate(pieces, 1):
        written += len(piece)
        if written >= length:
            return count
    return len(pieces)


def _cut(pieces: Sequence[str], length: int) -> tuple[str, ...]:
    """The pieces up to ``length`` characters, the last one shortened."""
    kept: list[str] = []
    for piece in pieces:
        if length <= 0:
            break
        kept.append(piece[:length])
        length -= len(piece)
    return tuple(kept)


def _wake(futures: Iterable[asyncio.Future[None]]) -> None:
    for future in futures:
        if not future.done():
            future.set_result(None)
