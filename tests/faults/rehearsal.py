"""What a real model says when nothing disturbs it: each topic once, through the whole house."""

from __future__ import annotations

import asyncio
import random

from tests.faults.browser import Browser
from tests.faults.house import House
from tests.faults.person import Person
from tests.faults.record import Log
from tests.faults.rows import Database
from tests.faults.voices import REHEARSAL, TOPICS, Voice, recited

REHEARSED_WITHIN_S = 120.0
HEARD = """
SELECT m.text, extract(epoch FROM g.ended_at - g.first_text_at)::float
FROM chat_generation g JOIN chat_message m ON m.id = g.message_id WHERE m.id = %s
"""


async def rehearse(house: House, database: Database, session: str) -> None:
    """Learn ``house.choir``. Nobody else may be asking meanwhile."""
    browser, log = Browser(house.url, session), Log(seed=0)

    async def stored(id: str) -> bool:
        return True

    async def hear(letter: str) -> Voice:
        person = Person(browser, log, {}, stored, random.Random(letter), plain=True)
        try:
            post = await person.ask(Voice(letter, ("?",), 1.0), "once", before=REHEARSAL)
            assert post and person.tab, log.stuck
            answer = person.tab.answers()[-1]
            assert await person.tab.until_ended(answer, REHEARSED_WITHIN_S), "no rehearsal"
        finally:
            await person.close()
        heard = await database.ask(HEARD, answer)
        assert heard, "the database is away"
        return recited(letter, *heard[0])

    try:
        for voice in await asyncio.gather(*map(hear, TOPICS)):
            house.choir[voice.letter] = voice
    finally:
        await browser.close()
