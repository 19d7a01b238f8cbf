"""What a reader sees of a path: each message with the text stored so far and how its run stands."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from django.contrib.postgres.aggregates import StringAgg
from django.db.models import F, Max, OuterRef, Subquery

from chat.domain import generations, tree
from chat.markdown import Live
from chat.models import Chunk, Conversation, Generation, Message


@dataclass(frozen=True, slots=True)
class Reading:
    """A message as it can be read now. ``seq`` is the last chunk that ``text`` holds.

    ``live`` is the growing text where somebody keeps it ahead of ``text``.
    """

    message: Message
    text: str
    generation: Generation | None = None
    seq: int = 0
    live: Live | None = None

    @property
    def has_text(self) -> bool:
        """Whether there is anything to read yet."""
        return bool(self.text or (self.live and (self.live.open or self.live.blocks)))

    @property
    def is_active(self) -> bool:
        """Whether more of it is coming."""
        return self.generation is not None and self.generation.is_active


def path(conversation: Conversation) -> list[Reading]:
    """The conversation from its first question to its newest message."""
    leaf = tree.leaf(conversation)
    return read(tree.path(leaf)) if leaf else []


def running(conversation: Conversation) -> list[str]:
    """The ids of the answers that are being written here."""
    active = conversation.messages.filter(generations__state__in=Generation.ACTIVE)
    return [str(pk) for pk in active.values_list("pk", flat=True)]


def one(answer: Message) -> Reading:
    """One answer as it stands."""
    return read([answer])[0]


def read(messages: Iterable[Message]) -> list[Reading]:
    """Join messages with their newest runs and the chunks those have written so far.

    Runs, texts and chunks come from one statement, so that an answer which ends meanwhile is seen
    before its end or after it, never between.
    """
    messages = list(messages)
    chunks = Chunk.objects.filter(generation=OuterRef("pk")).order_by().values("generation")
    grown = chunks.annotate(text=StringAgg("text", "", order_by="seq")).values("text")
    upto = chunks.annotate(upto=Max("seq")).values("upto")
    runs = {
        run.message_id: run
        for run in generations.latest(
            m for m in messages if m.role == Message.Role.ASSISTANT
        ).annotate(kept=F("message__text"), grown=Subquery(grown), upto=Subquery(upto))
    }
    return [_reading(message, runs.get(message.pk)) for message in messages]


def _reading(message: Message, run: Any) -> Reading:
    if run is None:
        return Reading(message, message.text)
    return Reading(message, run.kept + (run.grown or ""), run, run.upto or 0)
