"""One lap: people stream, each fault comes once in an order the seed gives, all goes quiet.

Owns the order of things and the patience; the faults are acts, the verdict is the checker's.
"""

from __future__ import annotations

import asyncio
import contextlib
import random
import sys
import time
from collections.abc import AsyncIterator, Sequence

from tests.faults import acts
from tests.faults.acts import Kind, Scene
from tests.faults.browser import Browser
from tests.faults.house import House
from tests.faults.person import Person
from tests.faults.record import Fault, Log
from tests.faults.rows import Database, Rows
from tests.faults.stranger import Stranger
from tests.faults.tab import Tab
from tests.faults.voices import SHORT

ENOUGH_WRITING = 0.6  # of all streams, before the next fault comes
WRITING_WITHIN_S = 20.0
WELL_WITHIN_S = 45.0
QUIET_WITHIN_S = 150.0
AT_ONCE = 5  # questions that are sent twice, or cut, as one fault


class Lap:
    """``sessions`` are those of the readers, the one who asks anew, and the stranger, in turn."""

    def __init__(
        self, house: House, database: Database, sessions: Sequence[str], seed: int
    ) -> None:
        self.log = Log(seed)
        self._house, self._database = house, database
        self._dice = random.Random(seed)
        *readers, asker, stranger = (Browser(house.url, session) for session in sessions)
        self._asker = asker
        self._browsers = [*readers, asker, stranger, Browser(house.url)]
        self._people = [self._person(browser) for browser in readers]
        self._strangers = [self._stranger(b) for b in self._browsers[-2:]]

    async def run(self, kinds: Sequence[Kind], until: float) -> Rows:
        """Every kind once, in the seed's order, until it is time to end; the rows afterwards."""
        order = self._dice.sample(kinds, len(kinds))
        self._database.begin()
        async with self._living():
            for kind in order:
                if time.monotonic() > until:
                    break
                await self._suffer(kind)
            await self._go_quiet()
        return await self._database.read()

    @property
    def _tabs(self) -> list[Tab]:
        return [person.tab for person in self._people if person.tab is not None]

    def _person(self, browser: Browser) -> Person:
        chance = random.Random(self._dice.getrandbits(64))
        return Person(
            browser, self.log, self._house.choir, self._is_stored, chance, plain=self._house.is_real
        )

    def _stranger(self, browser: Browser) -> Stranger:
        return Stranger(browser, self.log, random.Random(self._dice.getrandbits(64)))

    async def _is_stored(self, id: str) -> bool | None:
        rows = await self._database.ask("SELECT 1 FROM chat_message WHERE id = %s", id)
        return None if rows is None else bool(rows)

    @contextlib.asynccontextmanager
    async def _living(self) -> AsyncIterator[None]:
        background = self._background = [
            *(asyncio.create_task(s.prowl(lambda: self._tabs)) for s in self._strangers),
            asyncio.create_task(self._database.watch()),
            *(asyncio.create_task(keeper.keep()) for keeper in self._house.keepers.values()),
        ]
        self._lives = [asyncio.create_task(person.live()) for person in self._people]
        try:
            yield
        finally:
            for task in (*background, *self._lives):
                task.cancel()
            await asyncio.gather(*background, *self._lives, return_exceptions=True)
            await asyncio.gather(*(person.close() for person in self._people))
            await asyncio.gather(*(browser.close() for browser in self._browsers))
            await self._database.close()

    async def _suffer(self, kind: Kind) -> None:
        tell(f"{kind.name} …")
        await self._until_many_write()
        fault = Fault(kind.name, time.monotonic())
        self.log.faults.append(fault)
        writing = self._writing()
        await kind.act(Scene(self._house, self._tabs, self._dice), fault)
        if kind.name.startswith("kill"):
            running = await self._database.running()
            fault.stored = {tag: writing.stored for tag, writing in running.items()}
            began_at = {tag: writing.began_at for tag, writing in running.items()}
            fault.generated = self._house.spoken(began_at, fault.began_at)
        if await self._ask_anew(fault):
            await self._until_all_go_on(kind, writing)
        await asyncio.sleep(self._dice.uniform(0.5, 0.9))
        fault.over_at = time.monotonic()
        tell(f"{kind.name}: {_seconds(fault.well_after_s)} to a new answer, "
             f"over after {fault.over_at - fault.began_at:.1f} s")  # fmt: skip

    def _writing(self) -> list[tuple[Tab, str]]:
        return [(tab, a) for tab in self._tabs for a in tab.answers() if tab.is_writing(a)]

    async def _until_many_write(self) -> None:
        limit = time.monotonic() + WRITING_WITHIN_S
        while len(self._speaking()) < ENOUGH_WRITING * len(self._people):
            if time.monotonic() > limit:
                break
            await asyncio.sleep(0.1)

    def _speaking(self) -> list[str]:
        return [a for tab, a in self._writing() if tab.sights[a].grew]

    async def _ask_anew(self, fault: Fault) -> bool:
        """New questions, one or a few at once; whether each got its first words."""
        manner = acts.MANNERS.get(fault.kind, "once")
        people = [self._person(self._asker) for _ in range(1 if manner == "once" else AT_ONCE)]
        try:
            heard = await asyncio.gather(*(self._first_words(p, manner) for p in people))
        finally:
            await asyncio.gather(*(person.close() for person in people))
        if None in heard:
            return False
        fault.well_after_s = max(at for at in heard if at) - fault.healed_at
        return True

    async def _first_words(self, person: Person, manner: str) -> float | None:
        if not await person.ask(self._house.choir[SHORT], manner) or person.tab is None:
            return None
        answer = person.newest()
        if answer is None:
            return None
        await person.tab.until_ended(answer, WELL_WITHIN_S)
        grew = person.tab.sights[answer].grew
        return grew[0][0] if grew else None

    async def _until_all_go_on(self, kind: Kind, writing: list[tuple[Tab, str]]) -> None:
        asked = time.monotonic()
        while waiting := [a for tab, a in writing if not _goes_on(tab, a, asked)]:
            if time.monotonic() - asked > WELL_WITHIN_S:
                self.log.stuck.append(f"{kind.name}: {len(waiting)} answers did not go on")
                return
            await asyncio.sleep(0.1)

    async def _go_quiet(self) -> None:
        for person in self._people:
            person.leave()
        limit = time.monotonic() + QUIET_WITHIN_S
        _, late = await asyncio.wait(self._lives, timeout=QUIET_WITHIN_S)
        for task in late:
            self.log.stuck.append(f"somebody could not finish: {task.get_name()}")
        for task in (*self._lives, *self._background):
            if task.done():
                task.result()  # whoever fell over, instead of watching, says so here
        while not await self._database.is_quiet():
            if time.monotonic() > limit:
                self.log.stuck.append("there are runs that came to no end")
                return
            await asyncio.sleep(0.3)


def _goes_on(tab: Tab, answer: str, since: float) -> bool:
    sight = tab.sights.get(answer)
    if sight is None or sight.ended_at is not None or tab.is_closed:
        return True
    return bool(sight.grew) and sight.grew[-1][0] > since


def _seconds(value: float | None) -> str:
    return "never" if value is None else f"{value:.2f} s"


def tell(words: str) -> None:
    """How far it is, on standard error."""
    sys.stderr.write(f"{words}\n")
    sys.stderr.flush()
