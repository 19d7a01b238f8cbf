"""kill -9 of each of the six while an answer runs: the house comes back, nothing stored is lost."""

from __future__ import annotations

import asyncio
import os
import signal
import time

import psycopg
import pytest
from playwright.async_api import expect

from tests.appliance import NAMES, Appliance
from tests.e2e.visitor import Visitor

BACK_LIMIT_S = 40.0


@pytest.mark.timeout(240)
@pytest.mark.parametrize("name", NAMES)
async def test_a_killed_process_comes_back(visitor: Visitor, name: str) -> None:
    appliance = visitor.house.appliance
    # What the browser says of a connection that broke off is the fault itself.
    visitor.forgive(
        r"WebSocket|\[object Event\]|ERR_CONNECTION|ERR_EMPTY|ERR_INCOMPLETE|htmx:|status of 50"
    )
    alice = await visitor.person(visitor.house.alice)
    question = f"Tell a long story of a house whose {name} fell silent."
    path = await alice.ask(question)
    seen = await alice.until_words(4)
    before = appliance.pids()[name]

    os.kill(before, signal.SIGKILL)

    if name == "engine":  # what is said of it shows, and goes as soon as the answer goes on
        waits = alice.answer.get_by_text("The engine does not answer at the moment.")
        await expect(waits).to_be_visible()
        await expect(waits).to_have_count(0, timeout=1000 * BACK_LIMIT_S)
    await _until_back(appliance, name, before)
    await alice.open(path)
    ended = await alice.until_state("done", "stopped", "failed", "interrupted")
    assert ended.startswith(seen[: len(seen) // 2])
    texts = _messages(appliance, path)
    assert texts[0] == question
    assert texts[1].split()[:2] == ended.split()[:2]
    await alice.ask("Are you well again?")
    assert await alice.until_words(1)


async def _until_back(appliance: Appliance, name: str, before: int) -> None:
    limit = time.monotonic() + BACK_LIMIT_S
    while appliance.pids().get(name) in {None, before} or not appliance.is_ready():
        assert time.monotonic() < limit, f"{name} did not come back: {appliance.lines}"
        await asyncio.sleep(0.2)


def _messages(appliance: Appliance, path: str) -> list[str]:
    socket = appliance.data / "run" / "postgres"
    with psycopg.connect(f"host={socket} user=postgres dbname=konak") as connection:
        rows = connection.execute(
            "SELECT text FROM chat_message WHERE conversation_id = %s ORDER BY created_at",
            [path.split("/")[2]],
        ).fetchall()
    return [row[0] for row in rows]
