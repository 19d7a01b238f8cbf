"""Laps in one house until the time is over, what they measured, what they broke."""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Sequence
from dataclasses import replace

from tests.faults import table, voices
from tests.faults.acts import Kind
from tests.faults.checker import Broken, Joined, check
from tests.faults.house import House, standing
from tests.faults.lap import Lap, tell
from tests.faults.rehearsal import rehearse
from tests.faults.rows import Database

WORDS = 220
PACE = 20.0


class Run:
    """``rows`` by kind of fault and ``broken`` grow with every lap."""

    def __init__(
        self, kinds: Sequence[Kind], *, streams: int, seed: int, real: bool = False
    ) -> None:
        self.rows: dict[str, table.Row] = {}
        self.broken: list[Broken] = []
        self._kinds, self._streams, self._seed, self._real = kinds, streams, seed, real

    def once(self) -> None:
        """One whole lap."""
        self._in_a_house(minutes=0)

    def for_minutes(self, minutes: float) -> None:
        """Lap after lap; the last one is broken off when the time is over."""
        self._in_a_house(minutes=minutes)

    def table(self) -> str:
        """What there is to tell so far."""
        return table.render(self.rows, self.broken)

    def _in_a_house(self, *, minutes: float) -> None:
        choir = {} if self._real else voices.choir(words=WORDS, pace=PACE)
        with standing(choir, real=self._real) as house:
            asyncio.run(self._laps(house, minutes))

    async def _laps(self, house: House, minutes: float) -> None:
        database = Database(house.database)
        await database.witness()
        sessions = await asyncio.to_thread(house.people, self._streams + 2)
        if self._real:
            await rehearse(house, database, sessions[-2])
        until = time.monotonic() + minutes * 60 if minutes else math.inf
        while True:
            await self._lap(Lap(house, database, sessions, self._seed), house, until)
            self._seed += 1
            if not minutes or time.monotonic() > until:
                return

    async def _lap(self, lap: Lap, house: House, until: float) -> None:
        tell(f"seed {self._seed}")
        found = await lap.run(self._kinds, until)
        log = lap.log
        if self._real:  # what Markdown makes of a real text is compared elsewhere
            log = replace(log, sights=[])
        broken = check(log, found, house.choir)
        for breach in broken:
            tell(str(breach))
        self.broken += broken
        allowed_s = {kind.name: kind.silence_s for kind in self._kinds}
        table.add(self.rows, Joined(lap.log, found, house.choir), allowed_s)
