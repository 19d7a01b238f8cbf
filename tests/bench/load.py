"""What a load is: cases to measure on a site, and the sizes that the command line may change.

Knows neither how a site was started nor how results are shown.
"""

from __future__ import annotations

import asyncio
import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from tests.bench.client import Answer, Call, Endpoint, Json, send
from tests.bench.figures import Figures
from tests.bench.prompts import EXTENSIONS, Seed


@dataclass(frozen=True, slots=True)
class Needs:
    """What a server must be started with: answers at once, and tokens for each. With ``pool``
    llama-server shares the tokens of one answer among all, as it does by default."""

    slots: int
    context: int
    pool: bool = False


@dataclass(slots=True)
class Site:
    """A server under measurement. ``plain`` leaves out what OpenAI's dialect does not have;
    ``extra`` is added to each request, where a server says the same with other words."""

    name: str
    endpoint: Endpoint
    model: str
    plain: bool = False
    extra: Json = field(default_factory=dict)

    async def ask(self, body: Json, *, keep: bool = False, enough: int = 1) -> Call:
        """Send a request for a chat completion."""
        path = "/v1/chat/completions"
        return await send(self.endpoint, path, self.words(body), keep=keep, enough=enough)

    def words(self, body: Json) -> Json:
        """The request in the words of this server."""
        own = {k: v for k, v in body.items() if not (self.plain and k in EXTENSIONS)}
        return {"model": self.model, **own, **self.extra}

    async def ask_all(self, bodies: Sequence[Json], *, enough: int = 1) -> list[Call]:
        """Send all at once."""
        return list(await asyncio.gather(*(self.ask(body, enough=enough) for body in bodies)))

    async def answers(self, bodies: Sequence[Json]) -> list[Answer]:
        """Send all at once and wait for all."""
        return await whole(await self.ask_all(bodies))


@dataclass(slots=True)
class Measured:
    """One run of a case: its figures, all answers it asked for, and what must be said about it.

    An answer that was cut off on purpose is not among ``answers``.
    """

    figures: Figures
    answers: list[Answer]
    notes: list[str] = field(default_factory=list)


class Case(Protocol):
    """One line of a load, measured run by run."""

    @property
    def label(self) -> str: ...

    async def prepare(self, site: Site, seed: Seed) -> None:
        """What must have happened on the site before the first run."""

    async def measure(self, site: Site, seed: Seed) -> Measured:
        """One run. The seed is new in each."""


class Load(Protocol):
    """A row of the table of loads."""

    @property
    def name(self) -> str: ...

    def needs(self) -> Needs: ...

    def cases(self) -> Sequence[Case]: ...


async def whole(calls: Sequence[Call]) -> list[Answer]:
    """The answers when all have ended."""
    return [await call.whole() for call in calls]


def resize(load: Any, sizes: dict[str, str]) -> Any:
    """The load with other sizes; ``1,8,32`` where it has several. Raises ``ValueError``."""
    kinds = {item.name: getattr(load, item.name) for item in dataclasses.fields(load)}
    values: dict[str, object] = {}
    for name, given in sizes.items():
        if name not in kinds:
            raise ValueError(f"{load.name} has no size {name}, but: {', '.join(kinds)}.")
        try:
            numbers = tuple(int(part) for part in given.split(","))
        except ValueError:
            raise ValueError(f"{load.name}.{name} is a whole number, not {given}.") from None
        several = isinstance(kinds[name], tuple)
        if min(numbers) < 0 or (len(numbers) > 1 and not several):
            raise ValueError(f"{load.name}.{name} cannot be {given}.")
        values[name] = numbers if several else numbers[0]
    return dataclasses.replace(load, **values)
