"""What a reader sees of a path: each message with the text stored so far and how its run stands."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from django.contrib.postgres.aggregates import StringAgg
from django.db.models import Max, Value

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


def one(answer: Message) -> Reading:
    """One answer as it stands."""
    return read([answer])[0]


def read(messages: Iterable[Message]) -> list[Reading]:
    """Join messages with their newest runs and the chunks those have written so far."""
    messages = list(messages)
    runs = generations.latest(m for m in messages if m.role == Message.Role.ASSISTANT)
    active = [run.pk for run in runs.values() if run.is_active]
    grown = {
        row["generation"]: (row["upto"], row["grown"])
        for row in Chunk.objects.filter(generation__in=active)
        .values("generation")
        .annotate(upto=Max("seq"), grown=StringAgg("text", Value(""), ordering="seq"))
    }
    readings = []
    for message in messages:
        run = runs.get(message.pk)
        seq, text = grown.get(run.pk, (0, "")) if run else (0, "")
        readings.append(Reading(message, message.text + text, run, seq))
    return readings
