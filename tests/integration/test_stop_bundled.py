"""Stop with the bundled engine and a real model: its slot is free, and who is next has it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from django.conf import settings as configured
from django.urls import reverse
from pytest_django import Settings

from chat.domain import answers, catalogue, connections, generations
from chat.models import Generation, LanguageModel
from tests import factories
from tests.integration.engine_hosts import Host, running_host
from tests.integration.test_runner import ended, text_of, written
from tests.people import People, browser
from tests.scripts import in_database, running, until

pytestmark = pytest.mark.django_db(transaction=True)

State = Generation.State
LONG = "Write a very long story about a small harbour, its fishermen and their families."


@pytest.fixture
async def host(starter_model: Path, tmp_path: Path) -> AsyncIterator[Host]:
    """One slot, where the settings look for the engine."""
    (tmp_path / "models").mkdir()
    (tmp_path / "models" / starter_model.name).symlink_to(starter_model)
    options = ["--models", tmp_path / "models", "--slots", "1", "--context", "2048"]
    folder = Path(urlsplit(configured.ENGINE_URL).path).parent
    with running_host(folder, *options) as host:
        yield host


@pytest.fixture
async def model(host: Host) -> LanguageModel:
    """The model, as the host tells of it."""
    engine = await host.engine()
    cards = await engine.models()
    await engine.aclose()

    def listed() -> LanguageModel:
        catalogue.refresh(connections.bundled(), cards)
        return LanguageModel.objects.get()

    return await in_database(listed)()


async def test_stop_frees_the_slot_and_the_next_in_line_begins(
    people: People, model: LanguageModel, settings: Settings
) -> None:
    settings.ANSWER_MAX_TOKENS = 1500
    async with running():
        first = await in_database(factories.asked)(people.alice, LONG, model=model)
        seen = await written(first, words=3)
        second = await in_database(factories.asked)(people.bob, LONG, model=model)
        third = await in_database(factories.asked)(people.mallory, LONG, model=model)
        await until(in_database(lambda: not generations.queued(limit=1)))
        # From another tab, or after a reload: all there is is the answer's id.
        tab = await in_database(browser)(people.alice)
        await in_database(tab.post)(reverse("chat:stop", args=[first.answer.pk]))
        run = await ended(first)
        assert await written(second, words=3)
        assert not (await in_database(answers.one)(third.answer)).text
        await in_database(generations.stop)(third.answer, actor=people.mallory)
        assert (await ended(third)).state == State.STOPPED
        await in_database(generations.stop)(second.answer, actor=people.bob)
        # It has a slot, and the small model may have come to its end by itself meanwhile.
        assert (await ended(second)).state in (State.STOPPED, State.DONE)
    assert run.state == State.STOPPED
    assert (await text_of(first)).startswith(seen)
    assert await text_of(third) == ""
