"""An adapter with the imitation of its engine behind it, for one block."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from engine_adapter.remote.http_engine import HttpEngine
from engine_adapter.remote.kinds import Kind, open_engine
from engine_adapter.script import Rule, Script
from engine_adapter.scripted import ScriptedEngine
from engine_adapter.types import Event, Request, Turn
from tests.conformance.imitations import PROFILES
from tests.conformance.server import Notes, Profile, serving

HELLO = Rule(pieces=("Hello", " there"), reasoning=("Let me", " think"))
ASK = Request(model="scripted", turns=(Turn("user", "Say a secret"),))


@dataclass(frozen=True)
class Pair:
    """The adapter, what plays the engine, and what was seen at its address."""

    engine: HttpEngine
    behind: ScriptedEngine
    notes: Notes
    profile: Profile

    async def ask(self, request: Request = ASK) -> list[Event]:
        """All events of one answer."""
        return [event async for event in self.engine.stream(request)]

    def asked(self) -> Any:
        """The body of the last request for an answer."""
        return next(c.body for c in reversed(self.notes.calls) if "chat" in c.path)

    def headers(self) -> Any:
        """The headers of the last request for an answer."""
        return next(c.headers for c in reversed(self.notes.calls) if "chat" in c.path)


@asynccontextmanager
async def pair(kind: Kind, rule: Rule = HELLO, **how: Any) -> AsyncIterator[Pair]:
    """The adapter of ``kind`` and its imitation, which plays ``rule`` to every question."""
    behind = ScriptedEngine(Script(default=rule, context_length=512))
    profile = PROFILES[kind](behind)
    async with serving(profile) as notes:
        engine = open_engine(kind, notes.url, **how)
        yield Pair(engine, behind, notes, profile)
        await engine.aclose()
