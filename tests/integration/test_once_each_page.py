"""The ids that make a repeated post the same: each page has its own, also by the same news."""

from __future__ import annotations

import re

import pytest
from django.urls import reverse

from chat.domain import tree
from chat.domain.messages import Asked
from chat.models import Message
from tests import factories
from tests.integration.test_socket import Answer
from tests.people import People, browser
from tests.readers import Page
from tests.scripts import in_database

pytestmark = pytest.mark.django_db(transaction=True)

ONCE = re.compile(r'name="message_id"\s+value="([0-9a-f-]{36})"')


@pytest.fixture
def asked(people: People) -> Asked:
    return factories.asked(people.alice)


async def test_two_pages_that_hear_of_one_end_make_two_answers_and_a_double_click_makes_one(
    people: People, asked: Asked
) -> None:
    answer = await Answer(asked).begin()
    await answer.write("Blue.")
    async with Page(people.alice, asked.conversation) as one:
        async with Page(people.alice, asked.conversation) as other:
            await answer.end()
            for page in (one, other):
                await page.see(asked.answer, state="done")
        ids = [set(ONCE.findall(page.frames[-1])) for page in (one, other)]
    assert [len(found) for found in ids] == [1, 1] and ids[0] != ids[1]

    url = reverse("chat:regenerate", args=[asked.answer.pk])
    alice = await in_database(browser)(people.alice)
    for found in ids:
        for _click in range(2):
            form = {"message_id": next(iter(found))}
            posted = await in_database(alice.post)(url, form, headers={"HX-Request": "true"})
            assert posted.status_code == 200
    siblings = (await in_database(tree.siblings)([asked.answer]))[asked.answer.pk]
    assert len(siblings) == 3
    assert await in_database(Message.objects.count)() == 4


async def test_two_pages_that_are_loaded_have_two_ids_as_well(people: People, asked: Asked) -> None:
    answer = await Answer(asked).begin()
    await answer.end(tell=False)
    alice = await in_database(browser)(people.alice)
    page = reverse("chat:conversation", args=[asked.conversation.pk])
    edit = reverse("chat:edit", args=[asked.question.pk])
    for url in (page, edit):
        loaded = [await in_database(alice.get)(url) for _ in range(2)]
        ids = [set(ONCE.findall(one.content.decode())) for one in loaded]
        assert all(ids) and not ids[0] & ids[1]
