"""The life of one run of an answer: queued, claimed, written, ended. Conditional updates only.

A lease says who writes; ``attempt`` fences earlier owners off. PostgreSQL's clock is the one
that counts, so that machines need not agree on the time.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import cache
from typing import Any, Final
from uuid import UUID

from django.db import connection, transaction
from django.db.models import QuerySet
from django.db.models.functions import Now
from django.utils import timezone

from accounts.domain import audit
from accounts.models import User
from chat import events
from chat.domain import joined
from chat.models import (
    Chunk,
    Conversation,
    EngineConnection,
    Generation,
    LanguageModel,
    Message,
)
from engine_adapter.types import Usage

LEASE: Final = timedelta(seconds=10)
UNCLAIMED: Final = timedelta(seconds=60)
CHANNEL: Final = "konak_generations"
_MOST: Final = (1 << 31) - 1  # of a column of tokens
# The runners are woken when the transaction commits: NOTIFY is part of it.
_ENQUEUE = """
    WITH run AS (
        INSERT INTO chat_generation
            (id, message_id, state, created_at, attempt, stop_requested, reason, facts)
        VALUES (%(id)s, %(answer)s, 'queued', %(at)s, 0, false, '', '{}')
    )
    SELECT count(*), pg_notify(%(channel)s, 'queued')
    FROM chat_generation WHERE state = 'queued' AND created_at < %(at)s
"""

# What a run's chunks are together, and how that is added to its message.
_FOLDED = """
    string_agg(text, '' ORDER BY seq) AS text,
    string_agg(reasoning, '' ORDER BY seq) AS reasoning, max(reasoned_ms) AS reasoned_ms
"""
_ADDED = """
    text = m.text || texts.text, reasoning = m.reasoning || texts.reasoning,
    reasoned_ms = coalesce(m.reasoned_ms + texts.reasoned_ms, texts.reasoned_ms, m.reasoned_ms)
"""


@dataclass(frozen=True, slots=True)
class Growth:
    """What one tick adds to one answer."""

    generation: UUID
    attempt: int
    seq: int
    text: str
    reasoning: str = ""
    reasoned_ms: int | None = None


@dataclass(frozen=True, slots=True)
class End:
    """How a run ended; ``reason`` and ``facts`` say why where it was not in order. ``version`` of
    the model wrote it, at the engine of ``served_by`` where several serve it."""

    state: str
    reason: str = ""
    facts: dict[str, int] = field(default_factory=dict)
    usage: Usage | None = None
    first_text_at: datetime | None = None
    version: UUID | None = None
    served_by: UUID | None = None


@dataclass(frozen=True, slots=True)
class Ending:
    """Which run ends, written by which of its owners, and how."""

    generation: UUID
    attempt: int
    end: End


def _ring(word: str) -> None:
    """Wake the runners when the transaction commits (NOTIFY is part of it)."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_notify(%s, %s)", [CHANNEL, word])


def enqueue(answer: Message, *, is_new: bool = False) -> tuple[Generation, int]:
    """A new run of ``answer``, for any runner to claim, and how many wait in front of it.

    Part of the caller's transaction. ``is_new``: the answer itself was made a moment ago by it.
    """
    generation = Generation(message=answer, created_at=timezone.now())
    told: dict[str, Any] = {
        "id": generation.pk, "answer": answer.pk, "at": generation.created_at, "channel": CHANNEL,
    }  # fmt: skip
    with connection.cursor() as cursor:
        cursor.execute(_ENQUEUE, told)
        ahead = int(cursor.fetchone()[0])
    if is_new:
        about = str(answer.conversation_id), str(answer.pk), str(generation.pk)
        events.tell_on_commit(events.Asked(*about))
    else:
        tell_changed(answer)
    return generation, ahead


def tell_changed(answer: Message) -> None:
    events.tell_on_commit(
        events.Changed(conversation=str(answer.conversation_id), answer=str(answer.pk))
    )


def hold(messages: QuerySet[Message]) -> None:
    """Lock what is being written in ``messages`` until the transaction ends, so that they can be
    deleted: no word is stored meanwhile."""
    active = Generation.objects.filter(message__in=messages, state__in=Generation.ACTIVE)
    about = Message.objects.filter(pk__in=active.values("message")).order_by("pk")
    list(about.select_for_update(no_key=True).values_list("pk"))  # first, as in ``finish``
    list(active.select_for_update().values_list("pk"))


def queued(*, limit: int) -> list[Generation]:
    """The runs that no runner has claimed, in their order."""
    waiting = Generation.objects.filter(state=Generation.State.QUEUED).select_related("message")
    return list(waiting.order_by("created_at")[:limit])


def anybody_waits() -> bool:
    """Whether a person is waiting for, or reading, an answer that is being written."""
    return Generation.objects.filter(state__in=Generation.ACTIVE).exists()


def claim(runner: UUID, *, limit: int) -> list[Generation]:
    """Take over up to ``limit`` runs: queued ones, and those whose runner's lease has expired."""
    tables = (Generation, Message, Conversation, LanguageModel, EngineConnection)
    values = [runner, LEASE.total_seconds(), limit]
    claimed = []
    for generation, message, conversation, model, engine in joined.rows(_claim(), values, *tables):
        model.engine = engine
        message.conversation, message.language_model = conversation, model
        generation.message = message
        claimed.append(generation)
    return claimed


@cache
def _claim() -> str:
    # An array, so that the inner query runs once, whatever the planner thinks of it.
    columns = joined.columns(
        g=Generation, m=Message, c=Conversation, l=LanguageModel, e=EngineConnection
    )
    return f"""
        WITH g AS (
            UPDATE chat_generation SET
                state = 'running', runner = %s,
                lease_until = statement_timestamp() + make_interval(secs => %s),
                attempt = attempt + 1, started_at = coalesce(started_at, statement_timestamp())
            WHERE id = ANY (ARRAY(
                SELECT id FROM chat_generation
                WHERE state = 'queued'
                   OR state = 'running' AND lease_until < statement_timestamp()
                ORDER BY created_at LIMIT %s FOR UPDATE SKIP LOCKED
            ))
            RETURNING *
        )
        SELECT {columns} FROM g
        JOIN chat_message m ON m.id = g.message_id
        JOIN chat_conversation c ON c.id = m.conversation_id
        JOIN chat_languagemodel l ON l.id = m.language_model_id
        JOIN chat_engineconnection e ON e.id = l.engine_id
        ORDER BY g.created_at
    """  # noqa: S608 - names of our own columns


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
            INSERT INTO chat_chunk (generation_id, seq, text, reasoning, reasoned_ms)
            SELECT g.id, grown.seq, grown.text, coalesce(grown.reasoning, ''), grown.ms
            FROM json_to_recordset(%s)
                AS grown (id uuid, attempt int, seq int, text text, reasoning text, ms int)
            JOIN chat_generation g ON g.id = grown.id AND g.attempt = grown.attempt
                AND g.runner = %s AND g.state = 'running'
            FOR SHARE OF g
            ON CONFLICT (generation_id, seq) DO UPDATE SET
                text = EXCLUDED.text, reasoning = EXCLUDED.reasoning,
                reasoned_ms = EXCLUDED.reasoned_ms
            RETURNING generation_id
            """,
            [_as_json(growths), runner],
        )
        return {row[0] for row in cursor.fetchall()}


def _as_json(growths: Sequence[Growth]) -> str:
    """One text, which costs a fraction of four arrays, where it is written and where it is read."""
    return json.dumps(
        [{"id": str(g.generation), "attempt": g.attempt, "seq": g.seq, "text": g.text}
         | ({"reasoning": g.reasoning, "ms": g.reasoned_ms} if g.reasoning else {})
         for g in growths]
    )  # fmt: skip


def finish(runner: UUID, endings: Sequence[Ending]) -> set[UUID]:
    """The one legal end of each run: its text moves into the message. Returns those that were ours.

    Messages are locked before their runs, as everybody does who deletes or writes on.
    """
    with connection.cursor() as cursor:
        cursor.execute(
            f"""
            WITH given AS MATERIALIZED (
                SELECT g.*, r.message_id
                FROM unnest(%s::uuid[], %s::int[], %s::text[], %s::text[], %s::text[],
                            %s::timestamptz[], %s::uuid[], %s::int[], %s::int[], %s::int[],
                            %s::uuid[])
                     AS g (id, attempt, state, reason, facts, first_text_at, version,
                           prompt, written, cached, served_by)
                JOIN chat_generation r ON r.id = g.id
                JOIN chat_message m ON m.id = r.message_id
                ORDER BY m.id FOR NO KEY UPDATE OF m
            ),
            ended AS (
                UPDATE chat_generation r SET
                    state = g.state, reason = g.reason, facts = g.facts::jsonb,
                    ended_at = statement_timestamp(), lease_until = NULL,
                    first_text_at = coalesce(r.first_text_at, g.first_text_at),
                    prompt_tokens = g.prompt, completion_tokens = g.written,
                    cached_tokens = g.cached, served_by_id = g.served_by, version_id = g.version
                FROM given g
                WHERE r.id = g.id AND r.attempt = g.attempt
                  AND r.runner = %s AND r.state = 'running'
                RETURNING r.id, r.message_id
            ),
            chunks AS (
                DELETE FROM chat_chunk c USING ended WHERE c.generation_id = ended.id
                RETURNING ended.message_id, c.seq, c.text, c.reasoning, c.reasoned_ms
            ),
            texts AS (
                SELECT message_id, {_FOLDED} FROM chunks GROUP BY message_id
            ),
            folded AS (
                UPDATE chat_message m SET {_ADDED}
                FROM texts WHERE m.id = texts.message_id
            )
            SELECT id FROM ended
            """,  # noqa: S608 - our own words
            [*_columns(endings), runner],
        )
        return {row[0] for row in cursor.fetchall()}


def _columns(endings: Sequence[Ending]) -> list[list[Any]]:
    """One list a column, as ``unnest`` takes them."""
    rows = [
        (one.generation, one.attempt, one.end.state, one.end.reason, json.dumps(one.end.facts),
         one.end.first_text_at, one.end.version, *(_tokens(one.end.usage)), one.end.served_by)
        for one in endings
    ]  # fmt: skip
    return [list(column) for column in zip(*rows, strict=True)]


def _tokens(usage: Usage | None) -> tuple[int | None, int | None, int | None]:
    if usage is None:
        return None, None, None
    # One engine that lies must not keep the endings of all others from being written.
    read, written = min(usage.prompt_tokens, _MOST), min(usage.completion_tokens, _MOST)
    return read, written, min(usage.cached_tokens, _MOST)


def fold(generation: UUID) -> None:
    """Move the chunks of an ended run into its message."""
    with connection.cursor() as cursor:
        cursor.execute(
            f"""
            WITH chunks AS (DELETE FROM chat_chunk WHERE generation_id = %s RETURNING *),
            texts AS (SELECT {_FOLDED} FROM chunks HAVING count(*) > 0)
            UPDATE chat_message m SET {_ADDED}
            FROM chat_generation g, texts WHERE g.id = %s AND m.id = g.message_id
            """,  # noqa: S608 - our own words
            [generation, generation],
        )


def release(runner: UUID) -> None:
    """A runner that stops in order gives its runs back; another goes on from the stored text.

    Of a queued run ``lease_until`` says by when somebody should have claimed it.
    """
    returned = Generation.objects.filter(runner=runner, state=Generation.State.RUNNING).update(
        state=Generation.State.QUEUED, runner=None, lease_until=Now() + UNCLAIMED
    )
    if returned:
        _ring("queued")


def chunks_after(generation: UUID, seq: int = 0) -> list[tuple[int, str]]:
    """``(seq, text)`` of an active run's stored chunks above ``seq``, in order."""
    return list(
        Chunk.objects.filter(generation_id=generation, seq__gt=seq)
        .order_by("seq")
        .values_list("seq", "text")
    )


def has_thought(generation: UUID) -> bool:
    """Whether an active run has stored some of its reasoning."""
    return Chunk.objects.filter(generation_id=generation, reasoning__gt="").exists()


def stop(answer: Message, *, actor: User) -> bool:
    """Ask for the end of a running answer; a queued one ends at once. Its text is kept.

    ``False`` when there was nothing to stop any more.
    """
    with transaction.atomic():
        Message.objects.select_for_update(no_key=True).filter(pk=answer.pk).first()
        active = answer.generations.filter(state__in=Generation.ACTIVE).first()
        if active is None:
            return False
        running = Generation.objects.filter(pk=active.pk, state=Generation.State.RUNNING)
        queued = Generation.objects.filter(pk=active.pk, state=Generation.State.QUEUED)
        if queued.update(state=Generation.State.STOPPED, ended_at=Now(), lease_until=None):
            fold(active.pk)
        elif not running.filter(stop_requested=False).update(stop_requested=True):
            return False
        else:
            _ring("stop")
        audit.record("answer.stopped", actor=actor, about=answer)
        tell_changed(answer)
    return True
