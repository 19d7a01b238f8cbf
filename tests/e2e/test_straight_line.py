"""One question through all eight steps, from the keystroke to the page."""

from __future__ import annotations

import uuid
from typing import Any

import psycopg
from playwright.async_api import Response, WebSocket

from tests.e2e.visitor import Visitor

QUESTION = "Write a long story about a lighthouse keeper and the four seasons of the year."


async def test_from_a_keystroke_to_the_page(visitor: Visitor, database: psycopg.Connection) -> None:
    alice = await visitor.person(visitor.house.alice)
    accepted: list[Response] = []
    frames: list[str] = []
    alice.page.on("response", lambda r: accepted.append(r) if r.request.method == "POST" else None)
    alice.page.on("websocket", lambda socket: _collect(socket, frames))

    # 1 Compose: Enter posts. 2 Accept: the reply is the conversation's page.
    path = await alice.ask(QUESTION)
    assert [r.status for r in accepted] == [200]
    conversation = uuid.UUID(path.split("/")[2])

    # 3 Record: question, empty answer and its run, in one transaction with the audit entry.
    question, answer, generation = _recorded(database, conversation)
    assert question["text"] == QUESTION
    audited = database.execute(
        "SELECT verb, facts FROM accounts_auditentry WHERE object_id = %s", [str(question["id"])]
    ).fetchall()
    assert audited == [("message.asked", {"characters": len(QUESTION)})]

    # 4 Claim: a runner holds the lease. 5 Plan and 6 Step happen in the engine host.
    first = await alice.until_words(1)
    _, _, generation = _recorded(database, conversation)
    assert generation["state"] == "running"
    assert generation["runner"] is not None
    assert generation["lease"] > 0
    assert visitor.house.appliance.pids()["engine"]

    # 7 Write, then tell: what the page shows so far was stored before.
    stored = _chunks(database, generation["id"])
    assert len(stored) >= 1
    assert [seq for seq, _ in stored] == list(range(1, len(stored) + 1))
    assert first.split()[0] in "".join(text for _, text in stored)

    # 8 Paint: fragments by the socket, growing, until the final one.
    whole = await alice.until_state("done")
    assert whole.startswith(first[:20])
    grown = [frame for frame in frames if "data-from" in frame]
    assert len(grown) >= 3
    question, answer, generation = _recorded(database, conversation)
    assert generation["state"] == "done"
    assert generation["completion_tokens"] > 3
    assert answer["text"].split()[:3] == whole.split()[:3]
    assert _chunks(database, generation["id"]) == []


def _collect(socket: WebSocket, frames: list[str]) -> None:
    socket.on("framereceived", lambda frame: frames.append(str(frame)))


def _recorded(
    database: psycopg.Connection, conversation: uuid.UUID
) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:
    cursor = database.cursor(row_factory=psycopg.rows.dict_row)
    question, answer = cursor.execute(
        "SELECT id, role, text FROM chat_message WHERE conversation_id = %s ORDER BY created_at",
        [conversation],
    ).fetchall()
    generation = cursor.execute(
        "SELECT id, state, runner, completion_tokens,"
        " extract(epoch FROM lease_until - now()) AS lease"
        " FROM chat_generation WHERE message_id = %s",
        [answer["id"]],
    ).fetchone()
    assert generation
    return question, answer, generation


def _chunks(database: psycopg.Connection, generation: uuid.UUID) -> list[Any]:
    return database.execute(
        "SELECT seq, text FROM chat_chunk WHERE generation_id = %s ORDER BY seq", [generation]
    ).fetchall()
