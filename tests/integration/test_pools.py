"""Several engines behind one name: what people see of them, and what the runner makes of them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Iterator
from contextlib import ExitStack, aclosing
from dataclasses import dataclass, replace
from uuid import uuid4

import pytest

from accounts.models import User
from chat.domain import catalogue, connections, export, pools, prompts, rights, serving, titles
from chat.models import Conversation, EngineConnection, Generation, LanguageModel, Message
from engine_adapter.script import Rule, Script
from engine_adapter.scripted import ScriptedEngine
from engine_adapter.types import Event, ModelCard, Request
from tests import factories
from tests.integration.test_runner import ended, text_of
from tests.integration.test_titles import title_and_hang_up
from tests.listening import listening
from tests.people import People, browser
from tests.scripts import WORDS, in_database, running
from tests.temporaries import TemporaryPage

pytestmark = pytest.mark.django_db(transaction=True)

State = Generation.State
Standing = LanguageModel.Standing
PLAYED = Script(Rule(WORDS), model="scripted")
GONE = "http://127.0.0.1:9"


class Fate:
    """Who is asked next fares so, wherever that is; whoever comes after that does well."""

    def __init__(self) -> None:
        self.rules: list[Rule] = []


class Mortal(ScriptedEngine):
    """Plays what fate has for it."""

    def __init__(self, fate: Fate) -> None:
        super().__init__(PLAYED)
        self._fate = fate

    async def stream(self, request: Request) -> AsyncGenerator[Event, None]:
        rule = self._fate.rules.pop() if self._fate.rules else PLAYED.default
        self.script = replace(PLAYED, default=rule)
        async with aclosing(super().stream(request)) as events:
            async for event in events:
                yield event


@dataclass(frozen=True)
class Two:
    """Two engines, and their model: people see ``head``."""

    fate: Fate
    engines: tuple[Mortal, Mortal]
    head: LanguageModel
    other: LanguageModel

    @property
    def started(self) -> int:
        return sum(engine.started for engine in self.engines)


def model_at(url: str, name: str, actor: User, **told: object) -> LanguageModel:
    engine = connections.add(
        name=name, kind="vllm", url=url, key="", ca_file="", actor=actor
    )  # fmt: skip
    return another_at(engine, "scripted", **told)


def another_at(engine: EngineConnection, model: str, **told: object) -> LanguageModel:
    facts = {"continues": True, **told}
    catalogue.refresh(engine, [ModelCard(name=model, **facts)])
    row = LanguageModel.objects.select_related("engine").get(engine=engine, name=model)
    LanguageModel.objects.filter(pk=row.pk).update(display_name=f"{model} at {engine.name}")
    row.refresh_from_db()
    return row


@pytest.fixture
def two(people: People) -> Iterator[Two]:
    fate = Fate()
    engines = Mortal(fate), Mortal(fate)
    with ExitStack() as stack:
        urls = [stack.enter_context(listening(engine)) for engine in engines]
        head, other = (
            model_at(url, name, people.administrator)
            for url, name in zip(urls, ("First", "Second"), strict=True)
        )
        pools.share(head, [other], actor=people.administrator)
        head.refresh_from_db()
        other.refresh_from_db()
        yield Two(fate, engines, head, other)


@pytest.fixture
def rows(people: People) -> tuple[LanguageModel, LanguageModel]:
    """Two models on two engines where nobody is; the second serves for the first."""
    head, other = (model_at(GONE, name, people.administrator) for name in ("First", "Second"))
    pools.share(head, [other], actor=people.administrator)
    head.refresh_from_db()
    other.refresh_from_db()
    return head, other


async def answered(people: People, model: LanguageModel, text: str = "Hello") -> str:
    """What stands there once it is done."""
    asked = await in_database(factories.asked)(people.alice, text, model=model)
    run = await ended(asked)
    assert (run.state, run.reason, run.attempt) == (State.DONE, "", 1)
    return await text_of(asked)


# What the runner makes of them


@pytest.mark.parametrize("failure", ["unreachable", "broken", "overloaded"])
async def test_another_engine_steps_in_before_the_first_word(
    people: People, two: Two, failure: str
) -> None:
    two.fate.rules.append(Rule(("never",), fail_after=0, failure=failure))
    async with running():
        assert await answered(people, two.head) == "".join(WORDS)
    assert [engine.started for engine in two.engines] == [1, 1]


async def test_where_words_have_come_they_stay_and_another_engine_goes_on(
    people: People, two: Two
) -> None:
    two.fate.rules.append(replace(PLAYED.default, fail_after=13))
    async with running():
        assert await answered(people, two.head) == "".join(WORDS)
    assert [engine.started for engine in two.engines] == [1, 1], "and none began anew"


async def test_who_refuses_the_request_is_not_overruled(people: People, two: Two) -> None:
    two.fate.rules.append(Rule((), fail_after=0, failure="refused"))
    async with running():
        asked = await in_database(factories.asked)(people.alice, model=two.head)
        run = await ended(asked)
    assert (run.state, run.reason, two.started) == (State.FAILED, "refused", 1)


async def test_a_conversation_stays_with_its_engine_and_the_run_says_which(
    people: People, two: Two
) -> None:
    async with running():
        asked = await in_database(factories.asked)(people.alice, model=two.head)
        run = await ended(asked)
        for _ in range(3):
            more = await in_database(factories.asked)(
                people.alice, "More?", conversation=asked.conversation
            )
            assert (await ended(more)).served_by_id == run.served_by_id
    assert run.served_by_id in (None, two.other.pk)
    started = [4, 0] if run.served_by_id is None else [0, 4]
    assert [engine.started for engine in two.engines] == started
    told = await in_database(export.document)(asked.conversation)
    names = [m["run"].get("engine", "First") for m in told["messages"] if "run" in m]
    assert names == ["First" if run.served_by_id is None else "Second"] * 4


async def test_an_engine_that_is_away_is_not_missed_by_anybody(people: People, two: Two) -> None:
    """Neither by who asks, nor in a temporary chat, nor for a title."""
    await in_database(EngineConnection.objects.filter(pk=two.head.engine_id).update)(url=GONE)
    async with running():
        assert await answered(people, two.head) == "".join(WORDS)
    async with TemporaryPage(people.alice) as page:
        assert "word39" in await page.see(await page.ask("Hello"), state="done")
    due = Conversation.objects.filter(title_due=True)
    assert await in_database(due.exists)()
    await asyncio.to_thread(title_and_hang_up)
    assert not await in_database(due.exists)()
    assert [engine.started for engine in two.engines] == [0, 3]


# What people see of them


def test_one_that_serves_for_another_is_nobody_s_by_itself(
    people: People, rows: tuple[LanguageModel, LanguageModel]
) -> None:
    head, other = rows
    assert list(rights.usable_by(people.alice)) == [head]
    assert not rights.may_use(people.alice.pk, other)
    client = browser(people.alice)
    for page in ("/", "/temporary/", f"/?model={other.pk}"):
        shown = client.get(page).content.decode()
        assert head.display_name in shown and other.display_name not in shown
    told = {"text": "Hello", "message_id": str(uuid4()), "language_model": str(other.pk)}
    assert client.post("/conversations/", told).status_code == 422
    asked = factories.answered(people.alice, model=head)
    named = {"message_id": str(uuid4()), "language_model": str(other.pk)}
    assert client.post(f"/answers/{asked.answer.pk}/regenerate/", named).status_code == 422
    client.post(f"/conversations/{asked.conversation.pk}/model/", named)
    asked.conversation.refresh_from_db()
    assert asked.conversation.language_model == head
    assert Generation.objects.count() == 1


async def test_nor_in_a_temporary_chat(
    people: People, rows: tuple[LanguageModel, LanguageModel]
) -> None:
    async with TemporaryPage(people.alice) as page:
        refused = await page.refusal("Hello", language_model=str(rows[1].pk))
    assert "not available any more" in refused


def test_a_conversation_that_had_it_is_told_and_offered_the_other(
    people: People, rows: tuple[LanguageModel, LanguageModel]
) -> None:
    head, other = rows
    asked = factories.answered(people.alice, model=head)
    Conversation.objects.update(language_model=other)
    Message.objects.filter(pk=asked.answer.pk).update(language_model=other)
    address = f"/conversations/{asked.conversation.pk}/"
    page = browser(people.alice).get(address).content.decode()
    assert "the model of this conversation, is not there any more" in page
    assert f'value="{head.pk}">Go on with {head.display_name}<' in page
    assert Conversation.objects.get().language_model == other, "never changed in silence"
    asked.conversation.refresh_from_db()
    assert titles.build(asked.conversation) is None
    factories.asked(people.alice, "More?", conversation=asked.conversation)
    with pytest.raises(rights.NotAllowed):
        prompts.build(factories.claimed())
    retired = LanguageModel.objects.filter(pk=head.pk)
    retired.update(standing=Standing.RETIRED)
    assert rights.successor_of(other, people.alice) is None


def test_it_is_there_as_long_as_one_of_them_is(
    people: People, rows: tuple[LanguageModel, LanguageModel]
) -> None:
    head, other = rows
    asked = factories.answered(people.alice, model=head)
    connections.remove(head.engine, actor=people.administrator)
    head.refresh_from_db()
    assert list(rights.offered_to(people.alice)) == [head]
    assert rights.is_there(head, people.alice)
    assert serving.members(head) == [other]
    assert titles.due(limit=5) == [asked.conversation]
    LanguageModel.objects.filter(pk=other.pk).update(standing=Standing.RETIRED)
    assert not rights.offered_to(people.alice).exists()
    assert not rights.is_there(head, people.alice)
    assert titles.due(limit=5) == []
    assert serving.members(head) == [head], "so that its engine says why"


def test_who_is_gone_or_another_file_by_now_is_not_asked(
    people: People, rows: tuple[LanguageModel, LanguageModel]
) -> None:
    head, other = rows
    assert serving.members(head) == [head, other]
    for row, letter in ((head, "a"), (other, "b")):
        LanguageModel.objects.filter(pk=row.pk).update(sha256=letter * 64)
    head.refresh_from_db()
    assert serving.members(head) == [head]
    EngineConnection.objects.filter(pk=other.engine_id).update(kind="ollama")
    assert serving.members(head) == [head, other], "Ollama's is no file's"
    connections.remove(other.engine, actor=people.administrator)
    assert serving.members(head) == [head]


def test_together_they_read_what_each_of_them_does(people: People) -> None:
    head = model_at(GONE, "First", people.administrator, context_length=8192)
    small = model_at(GONE, "Small", people.administrator, context_length=4096)
    silent = model_at(GONE, "Silent", people.administrator)
    pools.share(head, [small, silent], actor=people.administrator)
    head.refresh_from_db()
    assert head.reads == 4096
    LanguageModel.objects.filter(pk=silent.pk).update(given_length=2048)
    another_at(small.engine, "scripted", context_length=16384)
    head.refresh_from_db()
    assert head.reads == 2048
    pools.share(head, [], actor=people.administrator)
    head.refresh_from_db()
    assert (head.reads, head.is_pool) == (8192, False)
