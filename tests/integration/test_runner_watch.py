"""The runner watches: engines that hang, answers that take too long, places in line, take-overs."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from datetime import timedelta
from uuid import uuid4

import pytest
from channels.layers import get_channel_layer
from django.utils import timezone
from pytest_django import Settings

from chat import events
from chat.domain import generations
from chat.models import EngineConnection, Generation, LanguageModel
from chat.runner import pace, running
from engine_adapter.script import Rule, Script
from tests import factories
from tests.integration.test_runner import ask, ended, text_of, written
from tests.people import People
from tests.scripts import WORDS, engine_host, in_database, until
from tests.scripts import running as at_work

pytestmark = pytest.mark.django_db(transaction=True)

State = Generation.State
QUICK = Rule(("Here", " it is."))
MUTE = Rule(WORDS, when="mute", first_delay_s=3600)
STALLS = Rule(WORDS, when="stall", pace=1 / 3600)
ENDLESS = Rule(tuple(f"{n} " for n in range(10_000)), when="for ever", pace=50)
SCRIPT = Script(default=QUICK, rules=(MUTE, STALLS, ENDLESS))


@pytest.fixture
def watchful(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    """Half a second is patience enough."""
    settings.ENGINE_FIRST_TOKEN_S = settings.ENGINE_NEXT_TOKEN_S = 0.5
    monkeypatch.setattr(pace, "WATCH_S", 0.05)


@pytest.mark.usefixtures("watchful")
async def test_an_engine_without_a_first_word_is_given_up_and_nobody_else(people: People) -> None:
    async with engine_host(SCRIPT) as engine, at_work():
        other = await ask(people.bob, "Count for ever")
        asked = await ask(people.alice, "Be mute")
        run = await ended(asked)
        assert engine.running == 1
        assert (await written(other)).startswith("0 1 2 ")
    assert (run.state, run.reason) == (State.FAILED, "silent")


@pytest.mark.usefixtures("watchful")
async def test_an_engine_that_stalls_in_the_middle_keeps_its_text(people: People) -> None:
    async with engine_host(SCRIPT), at_work():
        asked = await ask(people.alice, "Please stall")
        run = await ended(asked)
    assert (run.state, run.reason) == (State.INTERRUPTED, "silent")
    assert await text_of(asked) == WORDS[0]


@pytest.mark.usefixtures("watchful")
async def test_to_stand_in_line_is_no_silence(people: People) -> None:
    one_slot = Script(default=QUICK, rules=(ENDLESS,), slots=1)
    async with engine_host(one_slot) as engine, at_work():
        first = await ask(people.alice, "Count for ever")
        await written(first)
        waiting = await ask(people.bob, "And I?")
        await until(lambda: engine.waiting)
        await asyncio.sleep(1)
        await in_database(generations.stop)(first.answer, actor=people.alice)
        assert (await ended(waiting)).state == State.DONE
    assert await text_of(waiting) == "Here it is."


async def test_an_answer_that_takes_too_long_ends_as_it_is(
    people: People, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.ANSWER_MAX_SECONDS = 1
    monkeypatch.setattr(running, "DEADLINE_GRACE", timedelta(0))
    async with engine_host(SCRIPT) as engine, at_work():
        asked, mute = await ask(people.alice, "Count for ever"), await ask(people.bob, "Be mute")
        run, other = await ended(asked), await ended(mute)
        await until(lambda: not engine.running)
    assert (run.state, run.reason) == (State.DONE, "length")
    assert (await text_of(asked)).startswith("0 1 2 ")
    assert (other.state, other.reason) == (State.FAILED, "waited")


def _left_behind(people: People, **of_the_run: object) -> factories.messages.Asked:
    """What a runner left that died after a few words."""
    asked = factories.asked(people.alice, "Tell me")
    run = factories.claimed(uuid4())
    factories.write(run, *WORDS[:3])
    expired = timezone.now() - timedelta(seconds=1)
    Generation.objects.filter(pk=run.pk).update(lease_until=expired, **of_the_run)
    return asked


def _cannot_go_on() -> None:
    """The models belong to an engine that is silent, so that nobody tells what else they can."""
    silent = EngineConnection.objects.create(
        name="Silent", kind=EngineConnection.Kind.OPENAI, url="http://127.0.0.1:9/v1"
    )
    LanguageModel.objects.update(continues=False, engine=silent)


async def test_a_model_that_cannot_go_on_leaves_it_interrupted(people: People) -> None:
    asked = await in_database(_left_behind)(people)
    await in_database(_cannot_go_on)()
    async with engine_host(SCRIPT) as engine, at_work():
        run = await ended(asked)
    assert (run.state, run.reason, run.attempt) == (State.INTERRUPTED, "interrupted", 2)
    assert engine.started == 0
    assert await text_of(asked) == "".join(WORDS[:3])


async def test_what_was_to_be_stopped_is_not_taken_up_again(people: People) -> None:
    asked = await in_database(_left_behind)(people, stop_requested=True)
    async with engine_host(SCRIPT) as engine, at_work():
        run = await ended(asked)
    assert run.state == State.STOPPED
    assert engine.started == 0
    assert await text_of(asked) == "".join(WORDS[:3])


async def test_an_answer_that_kills_one_runner_after_the_other_is_left_alone(
    people: People,
) -> None:
    asked = await in_database(_left_behind)(people, attempt=20)
    async with engine_host(SCRIPT) as engine, at_work():
        run = await ended(asked)
    assert (run.state, run.reason) == (State.INTERRUPTED, "interrupted")
    assert engine.started == 0


@pytest.fixture
async def places() -> AsyncIterator[dict[str, list[int]]]:
    """Answer → the places it was told to have."""
    layer, told = get_channel_layer(), {}
    channel = await layer.new_channel()
    await layer.group_add(events.GROUP, channel)

    async def hear() -> None:
        while True:
            for item in (await layer.receive(channel))["news"]:
                if item["kind"] == "waits":
                    told.setdefault(item["answer"], []).append(item["ahead"])

    task = asyncio.create_task(hear())
    yield told
    task.cancel()


async def test_who_waits_for_a_slot_is_told_each_place(
    people: People, places: dict[str, list[int]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pace, "LEAST_LINE_S", 0.01)
    one_slot = Script(default=QUICK, rules=(ENDLESS,), slots=1)
    async with engine_host(one_slot), at_work():
        first, second = [await ask(u, "Count for ever") for u in (people.alice, people.bob)]
        third = await ask(people.mallory, "And I?")
        await until(lambda: places.get(str(third.answer.pk)) == [2])
        assert places[str(second.answer.pk)] == [1]
        await in_database(generations.stop)(first.answer, actor=people.alice)
        await until(lambda: places[str(third.answer.pk)] == [2, 1])
        await in_database(generations.stop)(second.answer, actor=people.bob)
        assert (await ended(third)).state == State.DONE


async def test_who_waits_for_a_runner_is_told_too(
    people: People, places: dict[str, list[int]], settings: Settings
) -> None:
    settings.RUNNER_ANSWERS = 1
    async with engine_host(SCRIPT), at_work():
        asked = [await ask(u, "Count for ever") for u in (people.alice, people.bob, people.mallory)]
        await until(lambda: places.get(str(asked[2].answer.pk)) == [2])
        assert places[str(asked[1].answer.pk)] == [1]
        await in_database(generations.stop)(asked[0].answer, actor=people.alice)
        await written(asked[1])
        await until(lambda: places[str(asked[2].answer.pk)] == [2, 1])
