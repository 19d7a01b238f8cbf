"""A conversation of 5,000 messages opens by pages: few rows and few queries, wherever one looks."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from uuid import uuid4

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from chat.domain import branches, forks, paths, prompts, tree
from chat.models import Conversation, Generation, Message
from tests import factories
from tests.people import People, browser

pytestmark = pytest.mark.django_db

LENGTH = 5_000
QUERIES = 17  # of them three for the sidebar: folders, what is pinned, the newest
FIRST = datetime(2026, 1, 1, tzinfo=UTC)


@pytest.fixture
def path(people: People) -> list[Message]:
    """One question after the other, with one answer each; no run is left of them."""
    model = factories.language_model()
    conversation = Conversation.objects.create(
        owner=people.alice, title="Long", language_model=model, updated_at=FIRST
    )
    made: list[Message] = []
    for n in range(LENGTH):
        made.append(
            Message(
                id=uuid4(),
                conversation=conversation,
                parent=made[-1] if made else None,
                role=Message.Role.ASSISTANT if n % 2 else Message.Role.USER,
                text=f"Message {n}.",
                language_model=model if n % 2 else None,
                created_at=FIRST + timedelta(seconds=n),
            )
        )
    return Message.objects.bulk_create(made, batch_size=1000)


def test_a_page_costs_the_same_wherever_it_is(people: People, path: list[Message]) -> None:
    url = reverse("chat:conversation", args=[path[0].conversation_id])
    client = browser(people.alice)
    client.get(url)
    for query, first in (
        ("", LENGTH - paths.SIZE),
        (f"?at={path[-1].pk}", LENGTH - paths.SIZE),
        (f"?at={path[0].pk}", 0),
        (f"?at={path[2500].pk}", 2501 - paths.CONTEXT),
    ):
        with CaptureQueriesContext(
            connection,
        ) as queries:
            page = client.get(url + query).content.decode()
        assert len(queries) <= QUERIES
        assert page.count("<article") <= paths.SIZE + paths.CONTEXT
        assert f"Message {first}." in page and f"Message {first - 1}." not in page
        assert ('name="parent"' in page) and str(path[-1].pk) in page


def test_reading_up_to_the_first_question_shows_each_message_once(
    people: People, path: list[Message]
) -> None:
    first, seen = path[-paths.SIZE], paths.SIZE
    while first.parent_id:
        page = paths.upto(first, path[-1], including=False)
        assert page.readings[-1].message.pk == first.parent_id
        first, seen = page.readings[0].message, seen + len(page.readings)
    assert (first, seen) == (path[0], LENGTH)


def test_what_reaches_the_whole_of_it_is_one_statement(
    people: People, path: list[Message], django_assert_max_num_queries
) -> None:
    with django_assert_max_num_queries(8):
        made = forks.fork(path[-1], conversation_id=uuid4(), actor=people.alice)
    assert made.messages.count() == LENGTH
    assert branches.of(path[2]).size == LENGTH - 2
    branches.delete(path[2], actor=people.alice)
    assert path[0].conversation.messages.count() == 2
    assert made.messages.count() == LENGTH


def test_a_prompt_loads_what_a_model_can_read(people: People, path: list[Message]) -> None:
    model = path[-1].language_model
    assert model
    model.context_length = 100
    model.save()
    factories.asked(people.alice, "And now?", conversation=path[0].conversation)
    run = Generation.objects.select_related("message__language_model").get()
    assert len(prompts.build(run).request.turns) < 150
    assert len(tree.path(run.message)) == LENGTH + 2
