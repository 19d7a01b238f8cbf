"""The runner in bad times: an engine that fails, a bell that is broken, a database that hiccups."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace
from datetime import timedelta

import psycopg
import pytest
from channels.layers import get_channel_layer
from django.db import connection
from django.utils import timezone

from chat import events
from chat.models import Generation, LanguageModel
from chat.runner import asking, pace
from deploy.appliance import temporary, valkey
from engine_adapter.script import Rule, Script
from tests import services
from tests.integration.test_runner import ask, ended, text_of, written
from tests.people import People
from tests.scripts import WORDS, doorbell, engine_host, in_database, running, until

pytestmark = pytest.mark.django_db(transaction=True)

State = Generation.State
SCRIPT = Script(default=Rule(WORDS, pace=100))


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Waits for engines that are away shortly, and for full ones not at all."""
    monkeypatch.setattr(pace, "PATIENCE_S", 0.1)
    monkeypatch.setattr(pace, "QUEUE_PATIENCE_S", 0)


@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize("code", ["broken", "refused", "overloaded"])
async def test_an_engine_that_fails_before_the_first_word(people: People, code: str) -> None:
    script = Script(default=Rule(("never",), fail_after=0, failure=code))
    async with engine_host(script), running():
        asked = await ask(people.alice, "Hello")
        run = await ended(asked)
    assert run.state == State.FAILED
    assert run.reason == code
    assert await text_of(asked) == ""


@pytest.mark.usefixtures("impatient")
async def test_no_engine_at_all(people: People) -> None:
    async with running():
        asked = await ask(people.alice, "Hello")
        run = await ended(asked)
    assert (run.state, run.reason) == (State.FAILED, "unreachable")


async def test_an_engine_that_comes_back_in_time(people: People) -> None:
    async with running():
        asked = await ask(people.alice, "Hello")
        await until(in_database(Generation.objects.filter(state=State.RUNNING).exists))
        async with engine_host(SCRIPT):
            run = await ended(asked)
    assert (run.state, run.attempt) == (State.DONE, 1)
    assert await text_of(asked) == "".join(WORDS)


async def test_a_break_in_the_middle_is_mended_from_the_stored_text(people: People) -> None:
    script = Script(default=replace(SCRIPT.default, fail_after=13))
    layer = get_channel_layer()
    await layer.group_add(events.GROUP, channel := await layer.new_channel())
    async with engine_host(script) as engine, running():
        asked = await ask(people.alice, "Hello")
        run = await ended(asked)
    assert (run.state, run.attempt) == (State.DONE, 1)
    assert await text_of(asked) == "".join(WORDS)
    assert engine.started == 2
    told: list[str] = []
    while "ended" not in told:
        told += [item["kind"] for item in (await layer.receive(channel))["news"]]
    assert told.count("paused") == 1
    assert "grew" in told[: told.index("paused")]
    assert "grew" in told[told.index("paused") :]


@pytest.mark.usefixtures("impatient")
async def test_a_break_that_cannot_be_mended_keeps_the_text(people: People) -> None:
    async with running():
        async with engine_host(SCRIPT):
            asked = await ask(people.alice, "Hello")
            seen = await written(asked)
        run = await ended(asked)
    assert run.state == State.INTERRUPTED
    assert run.reason in {"broken", "unreachable"}
    assert (await text_of(asked)).startswith(seen)


@pytest.mark.usefixtures("impatient")
async def test_a_model_that_cannot_go_on_is_not_asked_twice(people: People) -> None:
    # The engine says so itself: the runner asks it at any moment, and believes it.
    script = Script(default=replace(SCRIPT.default, fail_after=13), continues=False)
    asked = await ask(people.alice, "Hello")
    await in_database(LanguageModel.objects.update)(continues=False)
    async with engine_host(script) as engine, running():
        run = await ended(asked)
    assert (run.state, run.reason) == (State.INTERRUPTED, "broken")
    assert await text_of(asked) == "".join(WORDS[:13])
    assert engine.started == 1


async def test_an_engine_that_breaks_again_and_again_is_left_alone(people: People) -> None:
    """It writes on a little each time, so that the patience with a silent one never ends."""
    # What is stored lacks the NUL, so that the script never finds itself in it and goes on.
    script = Script(default=Rule(("\0again ", "never"), fail_after=1))
    async with engine_host(script) as engine, running():
        asked = await ask(people.alice, "Hello")
        run = await ended(asked)
    assert (run.state, run.reason) == (State.INTERRUPTED, "broken")
    assert engine.started == asking.MOST_BREAKS + 1
    assert await text_of(asked) == "again " * engine.started


async def test_a_full_engine_is_waited_for(people: People) -> None:
    full = Script(default=Rule(("never",), fail_after=0, failure="overloaded"))
    async with engine_host(full) as engine, running():
        asked = await ask(people.alice, "Hello")
        await until(lambda: engine.started >= 2)
        engine.script = SCRIPT
        run = await ended(asked)
    assert (run.state, run.attempt) == (State.DONE, 1)
    assert await text_of(asked) == "".join(WORDS)


async def test_a_prompt_that_does_not_fit_stores_both_numbers(people: People) -> None:
    async with engine_host(Script(default=Rule(("never",)), context_length=5)), running():
        asked = await ask(people.alice, "one two three four five six seven")
        run = await ended(asked)
    assert (run.state, run.reason) == (State.FAILED, "context_length_exceeded")
    assert run.facts == {"prompt_tokens": 7, "context_length": 5}


async def test_an_answer_that_is_cut_says_so(people: People) -> None:
    async with engine_host(Script(default=SCRIPT.default, context_length=20)), running():
        asked = await ask(people.alice, "Hello")
        run = await ended(asked)
    assert (run.state, run.reason) == (State.DONE, "length")
    assert await text_of(asked) == "".join(WORDS[:19])


@pytest.mark.parametrize("pieces", [("",), (" ", "\n"), ("\0",)], ids=["no word", "blanks", "NUL"])
async def test_an_answer_without_a_word_is_none(people: People, pieces: tuple[str, ...]) -> None:
    async with engine_host(Script(default=Rule(tuple(filter(None, pieces))))), running():
        asked = await ask(people.alice, "Hello")
        run = await ended(asked)
    assert (run.state, run.reason) == (State.FAILED, "empty")
    assert await text_of(asked) == ""


async def test_what_the_database_cannot_hold_is_left_out(people: People) -> None:
    async with engine_host(Script(default=Rule(("a\0b", "\0", "cd")))), running():
        asked = await ask(people.alice, "Hello")
        run = await ended(asked)
    assert run.state == State.DONE
    assert await text_of(asked) == "abcd"


async def test_without_valkey_answers_land_all_the_same(people: People) -> None:
    folder = services.DATA / "valkey-to-kill"
    folder.mkdir(exist_ok=True)
    program = valkey.program(folder, folder / "log")
    with ExitStack() as stack, doorbell(valkey.url(folder)):
        stack.enter_context(
            temporary.running(program, lambda _: services.answers(valkey.socket(folder)))
        )
        async with engine_host(SCRIPT), running():
            asked = await ask(people.alice, "Hello")
            await written(asked)
            stack.close()
            other = await ask(people.bob, "Hello")
            runs = [await ended(asked), await ended(other)]
    assert [run.state for run in runs] == [State.DONE] * 2
    assert await text_of(asked) == await text_of(other) == "".join(WORDS)


@pytest.fixture
def new_lines_afterwards(people: People) -> Iterator[None]:
    """The test's own line to the database is among those that drop."""
    yield
    connection.close()


@pytest.mark.usefixtures("new_lines_afterwards")
async def test_a_database_that_drops_every_line_costs_no_word(people: People) -> None:
    parameters = await in_database(connection.get_connection_params)()
    for name in ("pool", "cursor_factory", "context", "prepare_threshold"):
        parameters.pop(name, None)
    parameters["application_name"] = "chaos"
    async with engine_host(SCRIPT), running():
        asked = await ask(people.alice, "Hello")
        await written(asked)
        async with await psycopg.AsyncConnection.connect(**parameters, autocommit=True) as chaos:
            dropped = 0
            for _ in range(3):
                gone = await chaos.execute(
                    "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity"
                    " WHERE datname = current_database() AND application_name = 'konak'"
                )
                dropped += (await gone.fetchone())[0]
                await asyncio.sleep(0.1)
            assert dropped > 1
        run = await ended(asked)
        other = await ask(people.bob, "And now?")
        assert (await ended(other)).state == State.DONE
    assert run.state == State.DONE
    assert await text_of(asked) == "".join(WORDS)


async def test_a_runner_that_was_cut_off_too_long_goes_on_with_its_own(people: People) -> None:
    """Its lease ran out, nobody else came: it claims its own run, and the stream never broke."""

    def expire() -> None:
        Generation.objects.update(lease_until=timezone.now() - timedelta(seconds=1))

    async with engine_host(SCRIPT) as engine, running() as ours:
        asked = await ask(people.alice, "Hello")
        await written(asked)
        await in_database(expire)()
        ours._hands.claimable.set()
        run = await ended(asked)
    assert (run.state, run.runner, run.attempt) == (State.DONE, ours.id, 2)
    assert await text_of(asked) == "".join(WORDS)
    assert engine.started == 1


async def test_nothing_that_people_or_models_wrote_is_logged(
    people: People, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    canary, secret = "canary-7f3a", "secret-9c1b"
    script = Script(default=Rule((secret, " and more"), fail_after=1))
    async with engine_host(script), running():
        asked = await ask(people.alice, canary)
        await ended(asked)
        refused = await ask(people.alice, f"{canary} " * 9000)
        assert (await ended(refused)).reason == "context_length_exceeded"
    ours = [record.getMessage() for record in caplog.records if record.name.startswith("chat")]
    assert any("claimed" in line for line in ours)
    assert canary not in caplog.text
    assert secret not in caplog.text
