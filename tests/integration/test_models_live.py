"""The page of models, live: what changed and nothing else, to who manages models, while they do."""

from __future__ import annotations

import contextlib
import re
from collections.abc import AsyncIterator, Iterator, Sequence

import pytest

from accounts.models import User
from chat.domain import connections
from chat.models import EngineConnection, LanguageModel
from chat.watch import lookout
from chat.watch.consumer import NO_LONGER
from engine_adapter.script import Script
from engine_adapter.scripted import ScriptedEngine
from engine_adapter.types import ModelCard
from tests import factories
from tests.listening import listening
from tests.people import People, browser
from tests.readers import Page
from tests.scripts import SCRIPT, in_database, until

pytestmark = pytest.mark.django_db(transaction=True)


class Watched(ScriptedEngine):
    """Counts who looks at it, and has a model whose state is told by the test."""

    def __init__(self, script: Script) -> None:
        super().__init__(script)
        self.looks = 0
        self.state = "available"

    async def models(self) -> Sequence[ModelCard]:
        self.looks += 1
        return [ModelCard("small", state=self.state)]


@pytest.fixture(autouse=True)
def _often(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only the time between two looks is another."""
    monkeypatch.setattr(lookout, "EVERY_S", 0.1)


@pytest.fixture
def engine() -> Watched:
    return Watched(SCRIPT)


@pytest.fixture
def model(people: People, engine: Watched) -> Iterator[LanguageModel]:
    """Of an engine elsewhere; the bundled one is away."""
    with listening(engine) as url:
        row = connections.add(
            name="GPU room", kind="openai", url=url, key="", ca_file="",
            actor=people.administrator,
        )  # fmt: skip
        yield LanguageModel.objects.create(
            engine=row, name="small", display_name="Small", seen_at=row.created_at
        )


def address(user: User, query: str = "") -> str:
    """The socket's, as the page has it."""
    page = browser(user).get(f"/models/?{query}").content.decode()
    [found] = re.findall('ws-connect="([^"]*)"', page)
    return found.replace("&amp;", "&")


@contextlib.asynccontextmanager
async def opened(people: People, query: str = "") -> AsyncIterator[Page]:
    path = await in_database(address)(people.administrator, query)
    async with Page(people.administrator, path=path) as page:
        yield page


async def test_what_changes_is_told_and_nothing_else(
    people: People, engine: Watched, model: LanguageModel
) -> None:
    async with opened(people) as page:
        first = await page.frame() or ""
        assert "loaded when it is asked" in first
        assert "nothing listens at this port" in first, "the bundled engine is away"
        assert 'hx-trigger="htmx:wsClose from:body"' in first, "the polling sleeps"
        assert await page.quiet()
        engine.state = "loaded"
        second = await page.frame() or ""
        assert "in memory" in second
        assert second.count("hx-swap-oob") == 1, "one cell has changed"


async def test_one_look_for_all_pages_and_none_for_nobody(
    people: People, engine: Watched, model: LanguageModel
) -> None:
    one = lookout.lookout()
    async with opened(people) as first, opened(people) as second, opened(people) as third:
        for page in (first, second, third):
            assert "loaded when it is asked" in (await page.frame() or "")
        before = engine.looks
        await until(lambda: engine.looks >= before + 3)
        assert [len(page.frames) for page in (first, second, third)] == [1, 1, 1]
        assert len(one._readers) == 3
    await until(lambda: one._looking is None)
    rest = engine.looks
    async with opened(people) as again:
        await again.frame()
    assert engine.looks > rest, "who comes has it looked at once more"


async def test_the_role_taken_away_closes_it(
    people: People, engine: Watched, model: LanguageModel
) -> None:
    async with opened(people) as page:
        await page.frame()
        ada = User.objects.filter(pk=people.administrator.pk)
        await in_database(ada.update)(manages_models=False)
        assert await page.frame() is None
        assert page.closed == NO_LONGER
    again = Page(people.administrator, path="/ws/models/")
    assert not await again.open()
    await again.leave()


async def test_a_list_that_changed_is_fetched_and_then_told_again(
    people: People, engine: Watched, model: LanguageModel
) -> None:
    async with opened(people) as page:
        await page.frame()
        await in_database(factories.language_model)("newcomer")
        frame = await page.frame() or ""
        assert 'id="relist"' in frame and 'hx-get="/models/' in frame
        assert "hx-select" in frame
        assert 'hx-trigger="htmx:wsClose' in (await page.frame() or ""), "all of it once more"


async def test_only_what_the_page_shows_is_told(
    people: People, engine: Watched, model: LanguageModel
) -> None:
    bundled = await in_database(connections.bundled)()
    async with opened(people, "q=small") as page:
        first = await page.frame() or ""
        assert f"s-{model.pk}" in first
        assert f"e-{bundled.pk}" not in first


def test_where_sockets_are_blocked_the_page_asks(people: People, model: LanguageModel) -> None:
    client = browser(people.administrator)
    page = client.get("/models/").content.decode()
    [asks] = re.findall('hx-get="(/models/now/[^"]*)"', page)
    told = client.get(asks.replace("&amp;", "&")).content.decode()
    assert "loaded when it is asked" in told
    assert 'id="asking"' not in told, "it goes on as it does"
    # A socket that broke wakes the one that sleeps, and that asks from then on.
    woken = client.get(f"{asks}&asleep=1").content.decode()
    assert 'hx-trigger="every 5s' in woken
    assert 'id="relist"' in client.get("/models/now/?shape=other").content.decode()
    assert EngineConnection.objects.count() == 2
