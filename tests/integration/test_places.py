"""A place in line as its reader sees it: said, moved, gone with the first word."""

from __future__ import annotations

import pytest
from django.urls import reverse
from django.utils import translation

from chat import events
from chat.domain import standing
from chat.domain.messages import Asked
from chat.templatetags.chat_line import in_line
from tests import factories
from tests.integration.test_socket import Answer
from tests.people import People, browser
from tests.readers import Page
from tests.scripts import in_database

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def asked(people: People) -> Asked:
    return factories.asked(people.alice)


def place(asked: Asked, ahead: int, seconds: int | None = None) -> events.Waits:
    return events.Waits(str(asked.conversation.pk), str(asked.answer.pk), ahead, seconds)


async def test_it_is_said_and_moves_and_goes_with_the_first_word(
    people: People, asked: Asked
) -> None:
    async with Page(people.alice, asked.conversation) as page:
        first = await page.frame()
        assert first
        assert "in line" not in first
        await events.tell(place(asked, 3, 12))
        assert "3rd in line, about 10 s" in (await page.frame() or "")
        await events.tell(place(asked, 3, 12))
        await events.tell(place(asked, 1))
        moved = await page.frame() or ""
        assert "1st in line" in moved
        assert "about" not in moved
        async with Page(people.alice, asked.conversation) as second:
            assert "1st in line" in (await second.frame() or "")
        answer = await Answer(asked).begin()
        await answer.write("Well, ")
        await page.see(asked.answer, text="Well")
        assert f'id="m-{asked.answer.pk}-wait" hx-swap-oob="delete"' in page.frames[-1]
        await events.tell(place(asked, 2))
        assert await page.quiet()


async def test_a_page_that_polls_reads_where_it_stands(people: People, asked: Asked) -> None:
    url = reverse("chat:answer", args=[asked.answer.pk])
    alice = await in_database(browser)(people.alice)

    def polled() -> str:
        return alice.get(url, headers={"HX-Request": "true"}).content.decode()

    assert "in line" not in await in_database(polled)()
    await in_database(standing.keep)({str(asked.answer.pk): (3, 12)})
    assert "3rd in line, about 10 s" in await in_database(polled)()
    # The page itself too, before its socket or its first poll.
    page = reverse("chat:conversation", args=[asked.conversation.pk])
    assert b"3rd in line, about 10 s" in (await in_database(alice.get)(page)).content
    await in_database(standing.keep)({str(asked.answer.pk): (1, None)})
    told = await in_database(polled)()
    assert "1st in line" in told and "about" not in told
    answer = await Answer(asked).begin()
    await answer.write("Well, ")
    assert "in line" not in await in_database(polled)()


async def test_it_is_said_in_the_readers_language(people: People, asked: Asked) -> None:
    people.alice.language = "tr"
    await in_database(people.alice.save)()
    async with Page(people.alice, asked.conversation) as page:
        await page.frame()
        await events.tell(place(asked, 3, 12))
        assert "Sırada 3. kişisiniz, yaklaşık 10 sn" in (await page.frame() or "")


@pytest.mark.parametrize(
    ("place", "seconds", "english", "turkish"),
    [
        (1, None, "1st in line", "Sırada 1. kişisiniz"),
        (2, 7, "2nd in line, about 7 s", "Sırada 2. kişisiniz, yaklaşık 7 sn"),
        (3, 12, "3rd in line, about 10 s", "Sırada 3. kişisiniz, yaklaşık 10 sn"),
        (11, 89, "11th in line, about 90 s", "Sırada 11. kişisiniz, yaklaşık 90 sn"),
        (22, 90, "22nd in line, about 2 min", "Sırada 22. kişisiniz, yaklaşık 2 dk"),
        (112, 600, "112th in line, about 10 min", "Sırada 112. kişisiniz, yaklaşık 10 dk"),
    ],
)
def test_a_place_is_said_in_both_languages(
    place: int, seconds: int | None, english: str, turkish: str
) -> None:
    with translation.override("en"):
        assert in_line(place, seconds) == english
    with translation.override("tr"):
        assert in_line(place, seconds) == turkish
