"""Rows for the page that shows every component: as the product makes them, stored nowhere."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any, Final
from uuid import uuid4

from django.utils import timezone

from chat.domain.answers import Reading
from chat.domain.excerpts import Part
from chat.domain.search import Found, Hit, Quotation
from chat.models import Conversation, EngineConnection, Generation, LanguageModel, Message

_State = Generation.State
_PROSE: Final = "**42 %** of `x`, as $x^2$ shows.\n\n| a | b |\n| --- | ---: |\n| 1 | 2 |\n"
# How an answer can stand: its state, the reason, and whether there is text.
_STANDS: Final = (
    (_State.QUEUED, "", False), (_State.RUNNING, "", True), (_State.DONE, "", True),
    (_State.DONE, "length", True), (_State.DONE, "", False), (_State.STOPPED, "", True),
    (_State.INTERRUPTED, "broken", True), (_State.INTERRUPTED, "silent", True),
    *((_State.FAILED, reason, False) for reason in (
        "unreachable", "silent", "unclaimed", "waited", "empty", "not_allowed", "only_thought",
        "overloaded", "refused", "held", "context_length_exceeded", "internal",
    )),
)  # fmt: skip


def models() -> list[LanguageModel]:
    """One here, one elsewhere."""
    here = EngineConnection(name="Konak", kind=EngineConnection.Kind.BUNDLED)
    there = EngineConnection(name="GPU 1", kind=EngineConnection.Kind.OPENAI, url="-")
    facts: dict[str, Any] = {"context_length": 32768, "size_bytes": 9 * 10**9}
    return [
        LanguageModel(engine=here, display_name="Small", quantization="Q4_K_M", **facts),
        LanguageModel(engine=there, display_name="Large", description="A 14 % better one."),
    ]


def conversations() -> dict[str, Any]:
    """A list of them, and one that a search has found."""
    now = timezone.now()
    listed = [Conversation(title=title, updated_at=now) for title in ("Ward 3", "شهر " * 20)]
    listed[0].pinned_at = now
    words = [Part("What "), Part("wards", True), Part(" cost …")]
    hit = Hit(listed[0], words[1:2], [Quotation(_message(Message.Role.USER), words)])
    return {
        "page": SimpleNamespace(object_list=listed),
        "shown": listed[0],
        "found": Found([hit]),
        "nothing": Found(),
    }


def messages() -> dict[str, Any]:
    """A question and every answer to it: waiting, thinking, written, ended in each way."""
    question = _message(Message.Role.USER)
    waits = _answer(_State.QUEUED, "", False, ahead=3, wait_s=8)
    thinks = replace(_answer(_State.RUNNING, "", False), reasoning="So …", reasoned_ms=900)
    thought = replace(_answer(_State.DONE, "", True), reasoned_ms=12_000)
    return {
        "question": Reading(question, "Why?\n\nمرحبا", versions=(question.pk,)),
        "readings": [waits, thinks, thought, *(_answer(*stand) for stand in _STANDS)],
        "paused": _answer(_State.RUNNING, "", True),
        "branch": SimpleNamespace(size=3, top=question),
    }


def _message(role: str) -> Message:
    return Message(conversation_id=uuid4(), parent_id=uuid4(), role=role, created_at=timezone.now())


def _answer(state: str, reason: str, has_text: bool, **run: int) -> Reading:
    message = _message(Message.Role.ASSISTANT)
    message.language_model = LanguageModel(display_name=f"{state} {reason}", continues=True)
    generation = Generation(message=message, state=state, reason=reason, **run)
    versions = (uuid4(), message.pk) if state == _State.DONE else (message.pk,)
    return Reading(message, _PROSE if has_text else "", generation, versions=versions)
