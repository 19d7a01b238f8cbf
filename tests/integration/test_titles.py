"""Titles: the first words at once, a model's in idle time, the person's own for ever."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from django.db import connections
from django.urls import reverse

from accounts.models import AuditEntry
from chat.domain import removal, titles
from chat.models import Conversation, Generation, LanguageModel
from chat.tasks import title_conversations
from engine_adapter.script import Rule, Script
from tests import factories
from tests.people import People, browser
from tests.readers import Page
from tests.scripts import engine_host, in_database

State = Generation.State
TitledBy = Conversation.TitledBy


@contextmanager
def engine_saying(*pieces: str, **more: object) -> Iterator[list[object]]:
    """An engine host in a thread of its own; the task brings its own loop."""
    ready, over, engines = threading.Event(), asyncio.Event(), []

    async def serve() -> None:
        async with engine_host(Script(default=Rule(pieces, **more))) as engine:
            engines.append(engine)
            loops.append(asyncio.get_running_loop())
            ready.set()
            await over.wait()

    loops: list[asyncio.AbstractEventLoop] = []
    thread = threading.Thread(target=lambda: asyncio.run(serve()))
    thread.start()
    try:
        assert ready.wait(30)
        yield engines
    finally:
        loops[0].call_soon_threadsafe(over.set)
        thread.join()


def fresh(conversation: Conversation) -> Conversation:
    return Conversation.objects.get(pk=conversation.pk)


@pytest.mark.parametrize(
    ("question", "title"),
    [
        ("Why is the sky blue?", "Why is the sky blue?"),
        ("  Two\n\n lines\tof  text ", "Two lines of text"),
        ("word " * 40, "word word word word word word word word word word word…"),
        ("x" * 500, "x" * 59 + "…"),
        ("Dilekçe nasıl yazılır, İSTANBUL?", "Dilekçe nasıl yazılır, İSTANBUL?"),
    ],
)
def test_the_first_words_are_one_short_line(question: str, title: str) -> None:
    assert titles.first_words(question) == title


SAID = {
    "Blue Sky": "Blue Sky",
    '"Blue Sky."': "Blue Sky",
    "Title: Blue Sky": "Blue Sky",
    "Başlık: Mavi Gök": "Mavi Gök",
    "\n\n  **Blue Sky**\nAnd then I explain": "Blue Sky",
    "# Blue Sky": "Blue Sky",
    "“Blue Sky”": "Blue Sky",
    "": None,
    "  \n ": None,
    "...": None,
    "OK": None,
}


@pytest.mark.django_db
@pytest.mark.parametrize("words", SAID)
def test_a_models_words_become_a_title_or_are_of_no_use(people: People, words: str) -> None:
    conversation = factories.answered(people.alice, "First words").conversation
    titles.settle(conversation, words)
    conversation = fresh(conversation)
    expected = SAID[words]
    assert conversation.title == (expected or "First words")
    assert conversation.titled_by == (TitledBy.MODEL if expected else TitledBy.FIRST_WORDS)
    assert not conversation.title_due


@pytest.mark.django_db
def test_the_persons_own_title_stays(people: People) -> None:
    conversation = factories.answered(people.alice).conversation
    url = reverse("chat:rename", args=[conversation.pk])
    assert browser(people.alice).post(url, {"title": "  My \n own "}).status_code == 302
    titles.settle(conversation, "The model's")
    conversation = fresh(conversation)
    assert (conversation.title, conversation.titled_by) == ("My own", TitledBy.PERSON)
    assert titles.due(limit=5) == []


@pytest.mark.django_db
@pytest.mark.parametrize("title", ["", "   ", "x" * 201, "a\0b"])
def test_a_title_that_is_none_is_refused_in_words(people: People, title: str) -> None:
    conversation = factories.answered(people.alice, "First words").conversation
    url = reverse("chat:rename", args=[conversation.pk])
    response = browser(people.alice).post(url, {"title": title})
    assert response.status_code == 422
    assert 'class="error"' in response.content.decode()
    assert fresh(conversation).title == "First words"


@pytest.mark.django_db
def test_no_model_reads_what_was_deleted_to_name_it(people: People) -> None:
    asked = factories.answered(people.alice)
    assert titles.due(limit=5) == [asked.conversation]
    removal.remove(people.alice, [asked.conversation.pk])
    assert titles.due(limit=5) == []


@pytest.mark.django_db
def test_a_title_is_due_once_its_first_answer_is_done(people: People) -> None:
    done = factories.answered(people.alice).conversation
    factories.answered(people.alice, state=State.FAILED)
    factories.asked(people.alice)
    assert titles.due(limit=5) == [done]
    titles.settle(done, "Blue Sky")
    assert titles.due(limit=5) == []


@pytest.mark.django_db
def test_the_request_is_short_and_comes_after_everybody(people: People) -> None:
    conversation = factories.answered(people.alice, "q" * 5000, "a" * 5000).conversation
    request = titles.build(conversation)
    assert request.priority > 0
    assert request.sampling.max_tokens < 50
    assert sum(len(turn.content) for turn in request.turns) < 2000


@pytest.mark.django_db(transaction=True)
def test_the_task_names_what_is_due(people: People) -> None:
    conversations = [factories.answered(people.alice, f"Q {n}").conversation for n in range(3)]
    with engine_saying("Blue", " Sky"):
        title_conversations()
        title_conversations()
    assert {fresh(c).title for c in conversations} == {"Blue Sky"}
    assert {fresh(c).titled_by for c in conversations} == {TitledBy.MODEL}
    assert not AuditEntry.objects.filter(verb="conversation.renamed").exists()


@pytest.mark.django_db(transaction=True)
def test_the_task_waits_while_anybody_waits(people: People) -> None:
    conversation = factories.answered(people.alice, "First words").conversation
    running = factories.asked(people.bob)
    with engine_saying("Blue Sky") as [engine]:
        title_conversations()
        assert engine.started == 0
        assert fresh(conversation).title_due
        factories.end(factories.claimed())
        title_conversations()
        assert engine.started > 0
    assert fresh(conversation).title == "Blue Sky"
    assert running.conversation != conversation


def title_and_hang_up() -> None:
    """The task in a thread, which must let go of its line to the database."""
    title_conversations()
    connections.close_all()


@pytest.mark.django_db(transaction=True)
def test_the_task_stops_when_somebody_asks_meanwhile(people: People) -> None:
    for n in range(3):
        factories.answered(people.alice, f"Q {n}")
    with engine_saying("Blue Sky", first_delay_s=0.5) as [engine]:
        thread = threading.Thread(target=title_and_hang_up)
        thread.start()
        while engine.started == 0:
            assert thread.is_alive()
        factories.asked(people.bob)
        thread.join()
        assert engine.started == 1
    assert Conversation.objects.filter(titled_by=TitledBy.MODEL).count() == 1


@pytest.mark.django_db(transaction=True)
def test_an_engine_that_is_away_is_asked_again_later(people: People) -> None:
    conversation = factories.answered(people.alice, "First words").conversation
    title_conversations()
    assert fresh(conversation).title_due
    with engine_saying("Blue Sky"):
        title_conversations()
    assert fresh(conversation).title == "Blue Sky"


@pytest.mark.django_db(transaction=True)
def test_an_engine_that_refuses_is_not_asked_for_ever(people: People) -> None:
    conversation = factories.answered(people.alice, "First words").conversation
    LanguageModel.objects.update(name="unknown to the engine")
    with engine_saying("never"):
        title_conversations()
    assert fresh(conversation).title == "First words"
    assert not fresh(conversation).title_due


@pytest.mark.django_db(transaction=True)
def test_conversations_whose_model_is_gone_hold_up_nobody(people: People) -> None:
    old = [factories.answered(people.alice, f"Q {n}").conversation for n in range(7)]
    LanguageModel.objects.update(name="gone", available=False)
    new = factories.asked(people.alice, model=factories.language_model()).conversation
    factories.end(factories.claimed())
    with engine_saying("Blue Sky"):
        title_conversations()
    assert fresh(new).title == "Blue Sky"
    assert all(fresh(conversation).title_due for conversation in old)


@pytest.mark.django_db(transaction=True)
async def test_an_open_page_shows_the_title(people: People) -> None:
    asked = await in_database(factories.answered)(people.alice)
    async with Page(people.alice, asked.conversation) as page:
        await in_database(titles.settle)(asked.conversation, "Blue Sky")
        assert "Blue Sky" in await page.frame()
