"""A Valkey that takes connections and never says a word: who tells news goes on all the same."""

from __future__ import annotations

import asyncio
from pathlib import Path

from chat import events
from tests.scripts import PATIENCE_S, doorbell
from tests.talks import talking


async def test_telling_does_not_wait_for_a_valkey_that_hangs(tmp_path: Path) -> None:
    silent = asyncio.Event()

    async def hang(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        silent.set()
        await reader.read()

    socket = tmp_path / "valkey.sock"
    async with talking(hang, socket):
        with doorbell(f"unix://{socket}"):
            async with asyncio.timeout(PATIENCE_S):
                for _ in range(8):
                    await events.tell(events.Changed(conversation="c", answer="a"))
    assert silent.is_set()
