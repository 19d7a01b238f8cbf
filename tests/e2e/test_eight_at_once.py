"""Eight people who ask at once are answered at once: the batch, seen from the browser's side."""

from __future__ import annotations

import asyncio
import time
import uuid

import httpx
import psycopg
import pytest

from tests.e2e.house import Hand, House, sign_in

TOLD_S = 2.0  # a worker tells the host once a second what it counted
QUESTION = "Write a very long story about a garden. Take your time and tell every detail."


@pytest.mark.timeout(300)
async def test_eight_chats_take_far_less_than_eight_times_one(
    house: House, database: psycopg.Connection, capsys: pytest.CaptureFixture[str]
) -> None:
    hands = [await asyncio.to_thread(sign_in, house, house.alice) for _ in range(8)]
    await _chat(database, hands[0])

    began = time.monotonic()
    tokens_alone = await _chat(database, hands[0])
    alone = time.monotonic() - began
    before = await asyncio.to_thread(_steps, house)
    began = time.monotonic()
    tokens_together = sum(await asyncio.gather(*(_chat(database, hand) for hand in hands)))
    together = time.monotonic() - began
    for hand in hands:
        hand.close()

    fill = await asyncio.to_thread(_fill, house, before)
    # Answers differ in length from run to run: what counts is the time for the same tokens.
    ratio = (together / tokens_together) / (alone / tokens_alone) * 8
    with capsys.disabled():
        print(
            f"\none chat: {tokens_alone} tokens in {alone:.2f} s;"
            f" eight at once: {tokens_together} tokens in {together:.2f} s;"
            f" for the same length {ratio:.2f} times as long as one; {fill:.0%} of the slots wrote"
        )
    assert fill > 0.5


def _fill(house: House, before: tuple[float, float]) -> float:
    """Which part of the slots wrote on an average step since ``before``; one chat alone: an eighth.

    A ratio of times would say as much about the machine's neighbours as about the batch.
    """
    time.sleep(TOLD_S)
    filled, steps = (now - then for now, then in zip(_steps(house), before, strict=True))
    return filled / steps


def _steps(house: House) -> tuple[float, float]:
    """The slots' parts of all steps so far, and how many steps there were."""
    socket = str(house.appliance.data / "run" / "engine.sock")
    with httpx.Client(transport=httpx.HTTPTransport(uds=socket), base_url="http://engine") as host:
        lines = host.get("/metrics").text.splitlines()
    found = [
        sum(float(line.rpartition(" ")[2]) for line in lines if line.startswith(name))
        for name in ("konak:batch_fill_sum", "konak:batch_fill_count")
    ]
    return found[0], found[1]


async def _chat(database: psycopg.Connection, hand: Hand) -> int:
    """Ask, wait for the end of the answer; the tokens it has."""
    fields = {"text": QUESTION, "message_id": str(uuid.uuid4())}
    page: httpx.Response = await asyncio.to_thread(hand.post, "/", fields, to="/conversations/")
    conversation = page.url.path.split("/")[2]
    while True:
        row = database.execute(
            "SELECT g.state, g.completion_tokens FROM chat_generation g"
            " JOIN chat_message m ON m.id = g.message_id WHERE m.conversation_id = %s",
            [conversation],
        ).fetchone()
        assert row
        if row[0] not in {"queued", "running"}:
            assert row[0] == "done"
            return int(row[1])
        await asyncio.sleep(0.02)
