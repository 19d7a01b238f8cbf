"""The life of one run of an answer: queued, claimed, written, ended. Conditional updates only.

A lease says who writes; ``attempt`` fences earlier owners off. PostgreSQL's clock is the one
that counts, so that machines need not agree on the time.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Final
from uuid import UUID

from django.db import connection, transaction
from django.db.models import F, Q, QuerySet
from django.db.models.functions import Coalesce, Now
from django.utils import timezone

from accounts.domain import audit
from accounts.models import User
from chat import events
from chat.models import Chunk, Generation, Message
from engine_adapter.types import Usage

LEASE: Final = timedelta(seconds=10)
CHANNEL: Final = "konak_generations"


@dataclass(frozen=True, slots=True)
class Growth:
    """What one tick adds to one answer."""

    generation: UUID
    attempt: int
    seq: int
    text: str


@dataclass(frozen=True, slots=True)
class End:
    """How a run ended; ``reason`` and ``facts`` say why where it was not in order."""

    state: str
    reason: str = ""
    facts: dict[str, int] = field(default_factory=dict)
    usage: Usage | None = None
    first_text_at: datetime | None = None


def _ring(word: str) -> None:
    """Wake the runners when the transaction commits (NOTIFY is part of it)."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_notify(%s, %s)", [CHANNEL, word])


def enqueue(answer: Message) -> Generation:
    """A new run of ``answer``, for any runner to claim. Part of the caller's transaction."""
    generation = Generation.objects.create(message=answer, created_at=timezone.now())
    _ring("queued")
    _tell_changed(answer)
    return generation


def _tell_changed(answer: Message) -> None:
    events.tell_on_commit(
        events.Changed(conversation=str(answer.conversation_id), answer=str(answer.pk))
    )


def ahead_of(generation: Generation) -> int:
    """How many runs wait in front of this one."""
    return Generation.objects.filter(
        state=Generation.State.QUEUED, created_at__lt=generation.created_at
    ).count()


def anybody_waits() -> bool:
    """Whether a person is waiting for, or reading, an answer that is being written."""
    return Generation.objects.filter(state__in=Generation.ACTIVE).exists()


def claim(runner: UUID, *, limit: int) -> list[Generation]:
    """Take over up to ``limit`` runs: queued ones, and those whose runner's lease has expired."""
    free = Q(state=Generation.State.QUEUED) | Q(
        state=Generation.State.RUNNING, lease_until__lt=Now()
    )
    with transaction.atomic():
        ids = list(
            Generation.objects.select_for_update(skip_locked=True)
            .filter(free)
            .order_by("created_at")
            .values_list("pk", flat=True)[:limit]
        )
        Generation.objects.filter(pk__in=ids).update(
            state=Generation.State.RUNNING,
            runner=runner,
            lease_until=Now() + LEASE,
            attempt=F("attempt") + 1,
            started_at=Coalesce("started_at", Now()),
        )
    return list(
        Generation.objects.filter(pk__in=ids)
        .select_related(
            "message__language_model__engine", "message__parent", "message__conversation__owner"
        )
        .order_by("created_at")
    )


def renew(runner: UUID, generation_ids: Iterable[UUID]) -> dict[UUID, bool]:
    """Heartbeat: renew the lease of the runs that ``runner`` writes.

    Returns those it still owns; the value says whether somebody asked to stop it. A run that the
    database gave it but that it never heard of is not renewed, so that its lease runs out.
    """
    owned = Generation.objects.filter(
        pk__in=list(generation_ids), runner=runner, state=Generation.State.RUNNING
    )
    owned.update(lease_until=Now() + LEASE)
    return dict(owned.values_list("pk", "stop_requested"))


def append(runner: UUID, growths: Sequence[Growth]) -> set[UUID]:
    """Store one tick of all running answers in a single statement.

    Returns the runs that took it; one that is missing belongs to somebody else by now. The share
    lock makes a take-over wait for this tick, or this tick see the take-over. A tick that was
    committed but not confirmed comes again under the same ``seq`` and replaces itself.
    """
    with connection.cursor() as cursor:
        cursor.execute(
            """
            INSERT INTO chat_chunk (generation_id, seq, text)
            SELECT g.id, grown.seq, grown.text
            FROM unnest(%s::uuid[], %s::int[], %s::int[], %s::text[])
                 AS grown (id, attempt, seq, text)
            JOIN chat_generation g ON g.id = grown.id AND g.attempt = grown.attempt
                AND g.runner = %s AND g.state = 'running'
            FOR SHARE OF g
            ON CONFLICT (generation_id, seq) DO UPDATE SET text = EXCLUDED.text
            RETURNING generation_id
            """,
            [
                [growth.generation for growth in growths],
                [growth.attempt for growth in growths],
                [growth.seq for growth in growths],
                [growth.text for growth in growths],
                runner,
            ],
        )
        return {row[0] for row in cursor.fetchall()}


def finish(generation: UUID, *, runner: UUID, attempt: int, end: End) -> bool:
    """The one legal end of a run: its text moves into the message. ``False`` if it was not ours."""
    usage = end.usage
    with transaction.atomic():
        ended = Generation.objects.filter(
            pk=generation, runner=runner, attempt=attempt, state=Generation.State.RUNNING
        ).update(
            state=end.state,
            reason=end.reason,
            facts=end.facts,
            ended_at=Now(),
            lease_until=None,
            first_text_at=Coalesce("first_text_at", end.first_text_at),
            prompt_tokens=usage.prompt_tokens if usage else None,
            completion_tokens=usage.completion_tokens if usage else None,
            cached_tokens=usage.cached_tokens if usage else None,
        )
        if ended:
            _fold(generation)
    return bool(ended)


def _fold(generation: UUID) -> None:
    """Move the chunks of an ended run into its message."""
    with connection.cursor() as cursor:
        cursor.execute(
            """
            WITH written AS (DELETE FROM chat_chunk WHERE generation_id = %s RETURNING seq, text)
            UPDATE chat_message m
            SET text = m.text || (SELECT string_agg(text, '' ORDER BY seq) FROM written)
            FROM chat_generation g
            WHERE g.id = %s AND m.id = g.message_id AND EXISTS (SELECT 1 FROM written)
            """,
            [generation, generation],
        )


def release(runner: UUID) -> None:
    """A runner that stops in order gives its runs back; another goes on from the stored text."""
    returned = Generation.objects.filter(runner=runner, state=Generation.State.RUNNING).update(
        state=Generation.State.QUEUED, runner=None, lease_until=None
    )
    if returned:
        _ring("queued")


def latest(answers: Iterable[Message]) -> QuerySet[Generation]:
    """The newest run of each answer."""
    return (
        Generation.objects.filter(message__in=[answer.pk for answer in answers])
        .order_by("message_id", "-created_at")
        .distinct("message_id")
    )


def chunks_after(generation: UUID, seq: int = 0) -> list[tuple[int, str]]:
    """``(seq, text)`` of an active run's stored chunks above ``seq``, in order."""
    return list(
        Chunk.objects.filter(generation_id=generation, seq__gt=seq)
        .order_by("seq")
        .values_list("seq", "text")
    )


def stop(answer: Message, *, actor: User) -> bool:
    """Ask for the end of a running answer; a queued one ends at once. Its text is kept.

    ``False`` when there was nothing to stop any more.
    """
    with transaction.atomic():
        active = answer.generations.select_for_update().filter(state__in=Generation.ACTIVE).first()
        if active is None:
            return False
        if active.state == Generation.State.QUEUED:
            active.state, active.ended_at = Generation.State.STOPPED, timezone.now()
            active.save(update_fields=["state", "ended_at"])
            _fold(active.pk)
        else:
            Generation.objects.filter(pk=active.pk).update(stop_requested=True)
            _ring("stop")
        audit.record("answer.stopped", actor=actor, about=answer)
        _tell_changed(answer)
    return True


def retry(answer: Message, *, actor: User) -> Message:
    """Run a failed or interrupted answer again; returns the answer that is being written.

    The text so far stands and is continued. Where the model cannot continue, a sibling answer is
    written from the start and the old one stays in the tree. An answer that is active or done is
    returned as it is.
    """
    with transaction.atomic():
        answer = Message.objects.select_for_update(of=("self",)).get(pk=answer.pk)
        last = answer.generations.order_by("-created_at").first()
        broken = (Generation.State.FAILED, Generation.State.INTERRUPTED, Generation.State.STOPPED)
        if last is None or last.state not in broken:
            return answer
        model = answer.language_model
        if answer.text and not (model and model.continues):
            answer = Message.objects.create(
                conversation_id=answer.conversation_id,
                parent_id=answer.parent_id,
                role=Message.Role.ASSISTANT,
                language_model=model,
                created_at=timezone.now(),
            )
        enqueue(answer)
        audit.record("answer.retried", actor=actor, about=answer)
    return answer
