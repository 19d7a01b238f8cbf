"""What a real model says when nothing disturbs it: each topic once, through the whole house."""

from __future__ import annotations

import random

from tests.faults.browser import Browser
from tests.faults.house import House
from tests.faults.lap import WELL_WITHIN_S
from tests.faults.person import Person
from tests.faults.record import Log
from tests.faults.rows import Database
from tests.faults.voices import REHEARSAL, TOPICS, Voice, recited


async def rehearse(house: House, database: Database, session: str) -> None:
    """Learn ``house.choir``. Nobody else may be asking meanwhile."""
    browser, log = Browser(house.url, session), Log(seed=0)

    async def stored(id: str) -> bool:
        return True

    try:
        for number, letter in enumerate(TOPICS):
            unheard = Voice(letter, ("?",), 1.0)
            person = Person(browser, log, {}, stored, random.Random(number), plain=True)
            post = await person.ask(unheard, "once", before=REHEARSAL)
            assert post and person.tab, log.stuck
            answer = person.tab.answers()[-1]
            assert await person.tab.until_ended(answer, WELL_WITHIN_S), "no rehearsal"
            took = "SELECT extract(epoch FROM ended_at - first_text_at)::float FROM chat_generation"
            text = await database.ask("SELECT text FROM chat_message WHERE id = %s", answer)
            took_s = await database.ask(f"{took} WHERE message_id = %s", answer)
            assert text and took_s, "the database is away"
            house.choir[letter] = recited(letter, text[0][0], took_s[0][0])
            await person.close()
    finally:
        await browser.close()
