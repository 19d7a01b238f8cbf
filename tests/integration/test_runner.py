"""The runner in good times: claimed, streamed, stored, told, stopped, handed over."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest
from channels.layers import get_channel_layer
from django.utils import timezone

from accounts.models import User
from chat import events
from chat.domain import answers, generations, removal, rewriting
from chat.domain.messages import Asked
from chat.models import Chunk, Generation, LanguageModel, Message
from chat.runner import pace
from engine_adapter.script import Rule, Script
from tests import factories
from tests.people import People
from tests.scripts import SCRIPT, WORDS, engine_host, in_database, running, until

pytestmark = pytest.mark.django_db(transaction=True)

State = Generation.State


async def ask(user: User, text: str) -> Asked:
    return await in_database(factories.asked)(user, text)


async def ended(asked: Asked) -> Generation:
    def look() -> Generation | None:
        run = asked.answer.generations.order_by("-created_at").first()
        return run if run and not run.is_active else None

    return await until(in_database(look))


async def text_of(asked: Asked) -> str:
    return (await in_database(Message.objects.get)(pk=asked.answer.pk)).text


async def written(asked: Asked, words: int = 5) -> str:
    """What is stored once it is at least so many words."""

    def look() -> str:
        text = answers.one(asked.answer).text
        return text if len(text.split()) >= words else ""

    return await until(in_database(look))


@pytest.fixture
async def bell() -> AsyncIterator[list[dict[str, object]]]:
    """All news, as they come."""
    layer, heard = get_channel_layer(), []
    channel = await layer.new_channel()
    await layer.group_add(events.GROUP, channel)

    async def hear() -> None:
        while True:
            heard.extend((await layer.receive(channel))["news"])

    task = asyncio.create_task(hear())
    yield heard
    task.cancel()


async def test_an_answer_ends_up_whole_and_every_step_was_told(
    people: People, bell: list[dict[str, object]]
) -> None:
    async with engine_host(), running():
        asked = await ask(people.alice, "Tell me slowly")
        run = await ended(asked)
        await until(lambda: [n for n in bell if n["kind"] == "ended"])
    assert (run.state, run.reason, run.attempt) == (State.DONE, "", 1)
    assert (run.prompt_tokens, run.completion_tokens) == (3, len(WORDS))
    assert run.created_at <= run.started_at <= run.first_text_at <= run.ended_at
    assert await text_of(asked) == "".join(WORDS)
    assert not await in_database(Chunk.objects.exists)()

    here = {"conversation": str(asked.conversation.pk), "answer": str(asked.answer.pk)}
    assert all(item.items() >= here.items() for item in bell)
    growths = [item for item in bell if item["kind"] == "grew"]
    assert [item["seq"] for item in growths] == list(range(1, len(growths) + 1))
    assert "".join(item["text"] for item in growths) == "".join(WORDS)
    assert 1 < len(growths) < len(WORDS)
    assert [item["kind"] for item in bell if item["kind"] != "grew"] == ["asked", "ended"]
    assert (bell[0]["kind"], bell[-1]["kind"]) == ("asked", "ended")
    assert (bell[-1]["seq"], bell[-1]["state"]) == (len(growths), State.DONE)


async def test_everybody_is_answered_at_once(people: People) -> None:
    async with engine_host() as engine, running():
        asked = [
            await ask(user, "Tell me for ever")
            for user in (people.alice, people.bob, people.mallory)
        ]
        for each in asked:
            await written(each)
        assert engine.running == 3


async def test_who_waits_for_a_runner_is_kept_at_the_place_that_was_told(
    people: People, bell: list[dict[str, object]], settings: Any
) -> None:
    settings.RUNNER_ANSWERS = 1
    async with engine_host(), running():
        await written(await ask(people.alice, "Tell me for ever"))
        await ask(people.bob, "Me too")
        third = await ask(people.mallory, "And me")
        queued = third.answer.generations.filter(state=State.QUEUED)
        await until(in_database(queued.filter(ahead=2).exists))
        told = [n for n in bell if n["kind"] == "waits" and n["answer"] == str(third.answer.pk)]
    assert told[-1]["ahead"] == 2


async def test_a_follow_up_carries_the_whole_path(people: People) -> None:
    rules = (Rule(("second",), when="and then"),)
    async with engine_host(Script(SCRIPT.default, rules)) as engine, running():
        first = await ask(people.alice, "One two")
        await ended(first)
        second = await in_database(factories.asked)(
            people.alice, "And then?", conversation=first.conversation
        )
        run = await ended(second)
    assert await text_of(second) == "second"
    assert run.prompt_tokens == len(["One", "two", "Hello", "there.", "And", "then?"])
    assert engine.started == 2


async def test_stop_is_heard_at_once(people: People, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pace, "HEARTBEAT_S", 3600)
    async with engine_host() as engine, running():
        asked = await ask(people.alice, "Tell me for ever")
        seen = await written(asked)
        await in_database(generations.stop)(asked.answer, actor=people.alice)
        run = await ended(asked)
        await until(lambda: not engine.running)
    assert run.state == State.STOPPED
    assert engine.cancelled == 1
    assert (await text_of(asked)).startswith(seen)
    assert not await in_database(Chunk.objects.exists)()


async def test_a_stop_that_was_not_heard_is_seen_at_the_next_heartbeat(
    people: People, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pace, "HEARTBEAT_S", 0.1)
    async with engine_host(), running():
        asked = await ask(people.alice, "Tell me for ever")
        await written(asked)
        await in_database(Generation.objects.update)(stop_requested=True)
        assert (await ended(asked)).state == State.STOPPED


async def test_continue_after_a_stop_goes_on_where_it_was(people: People) -> None:
    async with engine_host(), running():
        asked = await ask(people.alice, "Tell me slowly")
        await written(asked)
        await in_database(generations.stop)(asked.answer, actor=people.alice)
        await ended(asked)
        assert await text_of(asked) != "".join(WORDS)
        await in_database(rewriting.retry)(asked.answer, actor=people.alice)
        assert (await ended(asked)).state == State.DONE
    assert await text_of(asked) == "".join(WORDS)


async def test_a_runner_that_is_told_to_go_leaves_the_rest_to_the_next(people: People) -> None:
    async with engine_host() as engine:
        async with running():
            asked = await ask(people.alice, "Tell me slowly")
            seen = await written(asked)
        run = await in_database(Generation.objects.get)()
        assert (run.state, run.runner) == (State.QUEUED, None)
        assert (await in_database(answers.one)(asked.answer)).text.startswith(seen)
        await until(lambda: not engine.running)
        async with running():
            run = await ended(asked)
    assert (run.state, run.attempt) == (State.DONE, 2)
    assert await text_of(asked) == "".join(WORDS)


async def test_a_dead_runners_answer_is_continued_from_its_stored_text(people: People) -> None:
    def die() -> Asked:
        asked = factories.asked(people.alice, "Tell me slowly")
        run = factories.claimed(uuid4())
        factories.write(run, *WORDS[:7])
        Generation.objects.update(lease_until=timezone.now() - timedelta(seconds=1))
        return asked

    async with engine_host() as engine:
        asked = await in_database(die)()
        async with running():
            run = await ended(asked)
    assert (run.state, run.attempt) == (State.DONE, 2)
    assert run.completion_tokens == len(WORDS) - 7
    assert engine.started == 1
    assert await text_of(asked) == "".join(WORDS)


async def test_what_another_took_over_is_let_go(people: People) -> None:
    other = uuid4()

    def take_over() -> None:
        Generation.objects.update(lease_until=timezone.now() - timedelta(seconds=1))
        run = factories.claimed(other)
        factories.end(run, State.INTERRUPTED)

    async with engine_host() as engine, running():
        asked = await ask(people.alice, "Tell me for ever")
        await written(asked)
        await in_database(take_over)()
        await until(lambda: not engine.running)
        text = await text_of(asked)
        await asyncio.sleep(0.2)
        assert await text_of(asked) == text
    assert (await ended(asked)).state == State.INTERRUPTED
    assert engine.cancelled == 1


async def test_a_deleted_conversation_costs_the_engine_nothing_more(people: People) -> None:
    async with engine_host() as engine, running():
        asked = await ask(people.alice, "Tell me for ever")
        await written(asked)
        await in_database(removal.remove)(people.alice, [asked.conversation.pk])
        await until(lambda: not engine.running)
        other = await ask(people.alice, "Hello?")
        assert (await ended(other)).state == State.DONE
    assert engine.cancelled == 1


async def test_the_catalogue_follows_the_engine(people: People) -> None:
    find = in_database(LanguageModel.objects.filter(name="brand-new-Q4_K_M").first)
    async with running():
        async with engine_host(Script(SCRIPT.default, model="brand-new-Q4_K_M")):
            found = await until(find)
        assert (found.display_name, found.context_length) == ("brand-new", 8192)
        assert found.available
        assert found.continues
