"""What the database holds after a lap, and witnesses in it that saw what rows cannot tell later.

Two triggers write down every step of a run and every fold of its chunks; a watch looks at leases.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import NamedTuple

import psycopg
from psycopg.rows import class_row

from tests.faults.voices import TAG


class Writing(NamedTuple):
    """An answer that is being written: its letters in the database, and since when it is."""

    stored: int
    began_at: float


WITNESSES = """
CREATE TABLE faults_move (
    n bigserial, run uuid, old text, new text, attempt int,
    at timestamptz DEFAULT clock_timestamp()
);
CREATE FUNCTION faults_moved() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
    INSERT INTO faults_move (run, old, new, attempt)
    VALUES (NEW.id, OLD.state, NEW.state, NEW.attempt);
    RETURN NULL;
END $$;
CREATE TRIGGER faults_moved AFTER UPDATE ON chat_generation FOR EACH ROW
    WHEN (OLD.state <> NEW.state OR OLD.attempt <> NEW.attempt) EXECUTE FUNCTION faults_moved();
CREATE TABLE faults_fold (
    run uuid, count int, least int, most int, at timestamptz DEFAULT clock_timestamp()
);
CREATE FUNCTION faults_folded() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
    INSERT INTO faults_fold (run, count, least, most)
    SELECT generation_id, count(*), min(seq), max(seq) FROM gone GROUP BY generation_id;
    RETURN NULL;
END $$;
CREATE TRIGGER faults_folded AFTER DELETE ON chat_chunk REFERENCING OLD TABLE AS gone
    FOR EACH STATEMENT EXECUTE FUNCTION faults_folded();
"""
LEASE_GRACE_S = 15.0
_LOOK_S = 0.5


@dataclass
class Message:
    """A question or an answer."""

    id: str
    conversation: str
    owner: str
    parent: str | None
    role: str
    text: str

    @property
    def tag(self) -> str:
        """What tells a question apart; nothing for an answer."""
        found = TAG.search(self.text) if self.role == "user" else None
        return found[0] if found else ""


@dataclass
class Run:
    """One run of an answer, as its row stands."""

    id: str
    answer: str
    state: str
    reason: str
    attempt: int
    ended: bool
    stop_requested: bool


@dataclass
class Move:
    """A step of a run: its state or its owner changed."""

    run: str
    old: str
    new: str
    attempt: int


@dataclass
class Fold:
    """Chunks that became a message's text: how many, the first ``seq`` and the last."""

    run: str
    count: int
    least: int
    most: int


@dataclass
class Entry:
    """A line of the ledger."""

    verb: str
    about: str


@dataclass
class Rows:
    """Everything the checker joins the log with. ``overdue`` and ``gaps`` are the watch's."""

    messages: list[Message] = field(default_factory=list)
    runs: list[Run] = field(default_factory=list)
    moves: list[Move] = field(default_factory=list)
    folds: list[Fold] = field(default_factory=list)
    entries: list[Entry] = field(default_factory=list)
    overdue: list[str] = field(default_factory=list)
    gaps: list[str] = field(default_factory=list)
    chunks: int = 0


READ = {
    Message: """
        SELECT m.id::text, m.conversation_id::text AS conversation, c.owner_id::text AS owner,
               m.parent_id::text AS parent, m.role, m.text
        FROM chat_message m JOIN chat_conversation c ON c.id = m.conversation_id
        WHERE m.created_at >= %s""",
    Run: """
        SELECT id::text, message_id::text AS answer, state, reason, attempt,
               ended_at IS NOT NULL AS ended, stop_requested FROM chat_generation
        WHERE created_at >= %s""",
    Move: "SELECT run::text, old, new, attempt FROM faults_move WHERE at >= %s ORDER BY n",
    Fold: "SELECT run::text, count, least, most FROM faults_fold WHERE at >= %s",
    Entry: "SELECT verb, object_id AS about FROM accounts_auditentry WHERE at >= %s",
}


class Database:
    """A look at the rows past the product; comes back by itself when the server does."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._connection: psycopg.AsyncConnection | None = None
        self._alone = asyncio.Lock()
        self._away_until = time.monotonic()
        self._since = datetime.now(UTC)
        self.overdue: dict[str, str] = {}
        self.gaps: dict[str, str] = {}

    def begin(self) -> None:
        """A lap begins: only rows that are made from now on are of interest."""
        self._since = datetime.now(UTC)
        self.overdue, self.gaps = {}, {}

    async def ask(self, sql: str, *values: object, within_s: float = 3.0) -> list[tuple] | None:
        """The rows, or ``None`` while the database is away."""
        async with self._alone:
            try:
                async with asyncio.timeout(within_s):
                    if self._connection is None or self._connection.closed:
                        self._connection = await psycopg.AsyncConnection.connect(
                            self._url, autocommit=True
                        )
                    return await (await self._connection.execute(sql, values)).fetchall()
            except (psycopg.Error, OSError, TimeoutError):
                self._away_until = time.monotonic()
                await self._hang_up()
                return None

    async def witness(self) -> None:
        """Put the witnesses into the database."""
        async with await psycopg.AsyncConnection.connect(self._url, autocommit=True) as line:
            await line.execute(WITNESSES)

    async def watch(self) -> None:
        """Look for leases that nobody takes over and for gaps, until cancelled."""
        while True:
            await asyncio.sleep(_LOOK_S)
            late = await self.ask(
                """SELECT id::text, extract(epoch FROM now() - lease_until)::float
                FROM chat_generation WHERE state = 'running' AND lease_until < now()"""
            )
            watched_s = time.monotonic() - self._away_until
            for run, late_s in late or []:
                if min(late_s, watched_s) > LEASE_GRACE_S:
                    self.overdue[run] = f"run {run} is owned by nobody since {late_s:.1f} s"
            holes = await self.ask(
                """SELECT generation_id::text, count(*), min(seq), max(seq) FROM chat_chunk
                GROUP BY 1 HAVING min(seq) <> 1 OR max(seq) <> count(*)"""
            )
            for run, count, least, most in holes or []:
                self.gaps[run] = f"run {run} has {count} chunks from {least} to {most}"

    async def running(self) -> dict[str, Writing]:
        """Every answer that is being written, by its question's tag; none while it is away."""
        found = await self.ask(
            """SELECT q.text, length(regexp_replace(a.text || coalesce(
                   (SELECT string_agg(text, '') FROM chat_chunk WHERE generation_id = g.id), ''),
                   '\\s', '', 'g')), extract(epoch FROM clock_timestamp() - g.created_at)::float
            FROM chat_generation g JOIN chat_message a ON a.id = g.message_id
            JOIN chat_message q ON q.id = a.parent_id WHERE g.state = 'running'"""
        )
        now, tags = time.monotonic(), [(TAG.search(text), *rest) for text, *rest in found or []]
        return {tag[0]: Writing(stored, now - age_s) for tag, stored, age_s in tags if tag}

    async def read(self) -> Rows:
        """All rows of this lap as they stand now."""
        async with await psycopg.AsyncConnection.connect(self._url, autocommit=True) as line:
            found = []
            for kind, sql in READ.items():
                async with line.cursor(row_factory=class_row(kind)) as cursor:
                    found.append(await (await cursor.execute(sql, [self._since])).fetchall())
            count = await (await line.execute("SELECT count(*) FROM chat_chunk")).fetchone()
        overdue, gaps = list(self.overdue.values()), list(self.gaps.values())
        return Rows(*found, overdue, gaps, count[0] if count else 0)

    async def is_quiet(self) -> bool:
        """Whether no answer waits or is being written."""
        active = "SELECT 1 FROM chat_generation WHERE state IN ('queued', 'running') LIMIT 1"
        return await self.ask(active) == []

    async def close(self) -> None:
        """Let go of the connection."""
        await self._hang_up()

    async def _hang_up(self) -> None:
        line, self._connection = self._connection, None
        if line is not None:
            with contextlib.suppress(psycopg.Error, OSError, TimeoutError):
                async with asyncio.timeout(1):
                    await line.close()
