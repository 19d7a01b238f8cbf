"""What a reader sees of a message: the text stored so far, how its run stands, its versions."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.utils.safestring import SafeString

from chat.domain import rewriting, tree
from chat.markdown import Live
from chat.models import Conversation, Generation, Message

# Written out: it is asked for every page and every answer, and to put it together takes longer.
_NEWEST_RUNS = """
    SELECT DISTINCT ON (g.message_id) g.*, m.text AS kept, m.reasoned_ms AS kept_ms,
        (SELECT string_agg(c.text, '' ORDER BY c.seq) FROM chat_chunk c
         WHERE c.generation_id = g.id) AS grown,
        (SELECT m.reasoning || string_agg(c.reasoning, '' ORDER BY c.seq) FROM chat_chunk c
         WHERE c.generation_id = g.id) AS thoughts,
        (SELECT max(c.reasoned_ms) FROM chat_chunk c WHERE c.generation_id = g.id) AS ms,
        (SELECT max(c.seq) FROM chat_chunk c WHERE c.generation_id = g.id) AS upto
    FROM chat_generation g JOIN chat_message m ON m.id = g.message_id
    WHERE g.message_id = ANY (%s)
    ORDER BY g.message_id, g.created_at DESC
"""


@dataclass(frozen=True, slots=True)
class Reading:
    """A message as it can be read now. ``seq`` is the last chunk that ``text`` holds.

    ``live`` is the growing text where somebody keeps it ahead of ``text``, ``html`` the finished
    one where somebody has it rendered. ``reasoned_ms`` is how long the model thought, ``None``
    where it did not; ``reasoning`` are its thoughts where they are newer than the message's.
    """

    message: Message
    text: str
    generation: Generation | None = None
    seq: int = 0
    live: Live | None = None
    html: SafeString | None = None
    versions: tuple[UUID, ...] = ()
    reasoning: str | None = None
    reasoned_ms: int | None = None

    @property
    def thoughts(self) -> str:
        """What the model thought before it spoke."""
        return self.message.reasoning if self.reasoning is None else self.reasoning

    @property
    def place(self) -> int:
        """Which of its versions this message is, counted from 1."""
        return self.versions.index(self.message.pk) + 1 if self.message.pk in self.versions else 1

    @property
    def version_before(self) -> UUID:
        """The version before this one; before the first comes the last."""
        return self.versions[self.place - 2]

    @property
    def version_after(self) -> UUID:
        """The version after this one; after the last comes the first."""
        return self.versions[self.place % len(self.versions)]

    @property
    def remedy(self) -> rewriting.Remedy:
        """What can be done about an answer that ended before its end."""
        return rewriting.remedy(self.generation, self.message.language_model, self.text)

    @property
    def has_text(self) -> bool:
        """Whether there is anything to read yet."""
        return bool(self.text or (self.live and (self.live.open or self.live.blocks)))

    @property
    def thinks(self) -> bool:
        """Whether the model is thinking still."""
        return self.is_active and self.reasoned_ms is not None and not self.has_text

    @property
    def is_active(self) -> bool:
        """Whether more of it is coming."""
        return self.generation is not None and self.generation.is_active


def running(conversation: Conversation) -> list[str]:
    """The ids of the answers that are being written here."""
    active = conversation.messages.filter(generations__state__in=Generation.ACTIVE)
    return [str(pk) for pk in active.values_list("pk", flat=True)]


def one(answer: Message) -> Reading:
    """One answer as it stands."""
    return read([answer])[0]


def read(messages: Iterable[Message]) -> list[Reading]:
    """Join messages with their versions, newest runs and the chunks those have written so far.

    Runs, texts and chunks come from one statement, so that an answer which ends meanwhile is seen
    before its end or after it, never between.
    """
    messages = list(messages)
    of = [m.pk for m in messages if m.role == Message.Role.ASSISTANT]
    runs = {run.message_id: run for run in Generation.objects.raw(_NEWEST_RUNS, [of])}
    versions = tree.siblings(messages)
    return [_reading(m, runs.get(m.pk), versions[m.pk]) for m in messages]


def _reading(message: Message, run: Any, versions: tuple[UUID, ...]) -> Reading:
    if run is None:
        ms = message.reasoned_ms
        return Reading(message, message.text, versions=versions, reasoned_ms=ms)
    text = run.kept + (run.grown or "")
    ms = run.kept_ms if run.ms is None else (run.kept_ms or 0) + run.ms
    return Reading(
        message, text, run, run.upto or 0, versions=versions, reasoning=run.thoughts, reasoned_ms=ms
    )
