"""The socket of a page: what is there at once, what comes after, and that the end is the end."""

from __future__ import annotations

import pytest

from chat import events
from chat.domain import conversations, generations, rewriting
from chat.domain.messages import Asked
from chat.live import hub
from chat.markdown import render
from chat.models import Generation
from tests import factories
from tests.people import People
from tests.readers import Page
from tests.scripts import in_database, until

pytestmark = pytest.mark.django_db(transaction=True)

State = Generation.State


class Answer:
    """An answer in the hands of a runner that writes when the test says so."""

    def __init__(self, asked: Asked) -> None:
        self.asked, self.seq = asked, 0

    async def write(self, text: str, *, tell: bool = True) -> None:
        """Store a chunk, and tell of it."""
        self.seq += 1
        await in_database(factories.write)(self.run, text, since=self.seq - 1)
        where = str(self.asked.conversation.pk), str(self.asked.answer.pk)
        if tell:
            await events.tell(events.Grew(*where, str(self.run.pk), self.seq, text))

    async def begin(self) -> Answer:
        self.run = await in_database(factories.claimed)()
        return self

    async def end(self, state: str = State.DONE, *, tell: bool = True, **how: object) -> None:
        """End the run, and tell of it."""
        await in_database(factories.end)(self.run, state, **how)
        where = str(self.asked.conversation.pk), str(self.asked.answer.pk)
        if tell:
            await events.tell(events.Changed(*where))


@pytest.fixture
def asked(people: People) -> Asked:
    return factories.asked(people.alice)


async def test_first_what_is_there_then_what_comes_then_the_end(
    people: People, asked: Asked
) -> None:
    answer = await Answer(asked).begin()
    await answer.write("# Sky\n\nIt is ")
    async with Page(people.alice, asked.conversation) as page:
        first = await page.frame()
        assert page.state(asked.answer) == "running"
        assert "Sky" in first
        assert "It is" in first
        await answer.write("**blue")
        await page.see(asked.answer, text="blue")
        assert "data-from" in page.frames[-1]
        await answer.write("**.\n\nAnd wide.\n\nAnd ")
        await page.see(asked.answer, text="wide")
        await answer.write("high.")
        await answer.end()
        html = await page.see(asked.answer, state="done")
        assert html.strip() == render("# Sky\n\nIt is **blue**.\n\nAnd wide.\n\nAnd high.").strip()
        assert await page.quiet()


async def test_a_second_reader_in_the_middle_sees_everything_so_far(
    people: People, asked: Asked
) -> None:
    answer = await Answer(asked).begin()
    async with Page(people.alice, asked.conversation) as first:
        await first.frame()
        for n in range(6):
            await answer.write(f"Paragraph {n}.\n\n")
        await first.see(asked.answer, text="Paragraph 5.")
        async with Page(people.alice, asked.conversation) as second:
            await second.frame()
            await answer.write("Paragraph 6.")
            for page in (first, second):
                html = await page.see(asked.answer, text="Paragraph 6.")
                assert [f"Paragraph {n}." in html for n in range(7)] == [True] * 7
                assert html.count("Paragraph 3.") == 1


async def test_one_page_gone_leaves_the_other_reading(people: People, asked: Asked) -> None:
    answer = await Answer(asked).begin()
    await answer.write("One ")
    async with Page(people.alice, asked.conversation) as stays:
        async with Page(people.alice, asked.conversation) as goes:
            await goes.see(asked.answer, text="One")
        await answer.write("two")
        assert "One two" in await stays.see(asked.answer, text="two")


async def test_a_page_that_is_gone_leaves_nothing_behind(people: People, asked: Asked) -> None:
    async with Page(people.alice, asked.conversation) as page, Page(people.bob):
        await page.frame()
        assert len(hub().readers) == 2
        assert set(hub().answers) == {str(asked.answer.pk)}
    assert not hub().readers
    assert not hub().answers


async def test_words_nobody_told_of_are_read_from_the_database(
    people: People, asked: Asked
) -> None:
    answer = await Answer(asked).begin()
    await answer.write("One ")
    async with Page(people.alice, asked.conversation) as page:
        await page.see(asked.answer, text="One")
        await answer.write("two ", tell=False)
        await answer.write("three ")  # a gap
        assert "One two three" in await page.see(asked.answer, text="three")
        await answer.write("four ", tell=False)  # silence
        assert "three four" in await page.see(asked.answer, text="four")
        await answer.end(tell=False)
        await page.see(asked.answer, state="done")


async def test_news_told_twice_or_late_change_nothing(people: People, asked: Asked) -> None:
    answer = await Answer(asked).begin()
    where = str(asked.conversation.pk), str(asked.answer.pk), str(answer.run.pk)
    await answer.write("One ")
    async with Page(people.alice, asked.conversation) as page:
        await page.frame()
        await events.tell(events.Grew(*where, 1, "One "), events.Grew(*where, 1, "One "))
        await answer.write("two")
        await events.tell(events.Grew(*where, 1, "One "), events.Grew(*where, 2, "two"))
        await answer.end()
        assert (await page.see(asked.answer, state="done")).count("One two") == 1


async def test_an_answer_that_begins_while_the_page_is_open(people: People) -> None:
    first = await in_database(factories.answered)(people.alice)
    async with Page(people.alice, first.conversation) as page:
        assert await page.quiet()
        asked = await in_database(factories.asked)(
            people.alice, "And then?", conversation=first.conversation
        )
        begun = await page.frame() or ""
        assert f'id="m-{asked.answer.pk}-wait"' in begun  # a page that lacks it asks for the rest
        assert 'id="stop"' in begun
        page.accept(asked.answer)
        answer = await Answer(asked).begin()
        await answer.write("Then.")
        assert "Then." in await page.see(asked.answer, text="Then.")
        await answer.end()
        assert "Then." in await page.see(asked.answer, state="done")


async def test_an_answer_that_has_just_begun_is_known_in_full_a_moment_later(
    people: People,
) -> None:
    first = await in_database(factories.answered)(people.alice)
    async with Page(people.alice, first.conversation) as page:
        asked = await in_database(factories.asked)(
            people.alice, "And then?", conversation=first.conversation
        )
        await page.frame()
        known = hub().answers[str(asked.answer.pk)]
        assert known.reading is None
        answer = await Answer(asked).begin()
        await answer.write("Then ")
        await until(lambda: known.reading)
        page.accept(asked.answer)
        assert "Then" in await page.see(asked.answer, text="Then")
        await answer.write("more.")
        assert "Then more." in await page.see(asked.answer, text="more")
        assert known.seq == 2
        assert await page.quiet()


async def test_stop_retry_and_failure_are_shown(people: People, asked: Asked) -> None:
    async with Page(people.alice, asked.conversation) as page:
        await page.see(asked.answer, state="queued")
        await in_database(generations.stop)(asked.answer, actor=people.alice)
        await page.see(asked.answer, state="stopped")
        assert "You stopped this answer." in page.frames[-1]
        await in_database(rewriting.retry)(asked.answer, actor=people.alice)
        await page.see(asked.answer, state="queued")
        answer = await Answer(asked).begin()
        facts = {"prompt_tokens": 9000, "context_length": 2048}
        await answer.end(State.FAILED, reason="context_length_exceeded", facts=facts)
        await page.see(asked.answer, state="failed")
        assert "9000 of 2048 tokens" in page.frames[-1]


async def test_an_engine_that_is_away_is_told_of_until_it_goes_on(
    people: People, asked: Asked
) -> None:
    answer = await Answer(asked).begin()
    where = str(asked.conversation.pk), str(asked.answer.pk)
    away = "The engine does not answer at the moment."
    async with Page(people.alice, asked.conversation) as page:
        await page.frame()
        await events.tell(events.Paused(*where, str(answer.run.pk)))
        assert away in await page.frame()
        await answer.write("One ")
        assert away not in await page.frame()
        await answer.write("two ")
        assert "data-from" in await page.frame()
        await events.tell(events.Paused(*where, "another run"))
        await events.tell(events.Paused(*where, str(answer.run.pk)))
        await events.tell(events.Paused(*where, str(answer.run.pk)))
        told = await page.frame()
        assert away in told
        assert "One two" in told, "what is written stays where it is"
        assert await page.quiet(), "it is said once"
        await answer.write("three")
        await page.see(asked.answer, text="One two three")
        assert away not in page.frames[-1]
        await answer.end(State.INTERRUPTED, reason="unreachable")
        await page.see(asked.answer, state="interrupted")
        assert away not in page.frames[-1]


async def test_other_peoples_news_stay_with_them(people: People, asked: Asked) -> None:
    answer = await Answer(asked).begin()
    bobs = await in_database(factories.answered)(people.bob, "Bob's question")
    async with (
        Page(people.bob, bobs.conversation) as bobs_page,
        Page(people.mallory) as mallorys_page,
        Page(people.alice) as empty_page,
    ):
        await answer.write("for alice only")
        await answer.end()
        await in_database(conversations.rename)(asked.conversation, "Hers", actor=people.alice)
        assert "Hers" in await empty_page.frame()
        assert await bobs_page.quiet()
        assert await mallorys_page.quiet()


async def test_another_title_reaches_list_and_heading(people: People, asked: Asked) -> None:
    async with Page(people.alice, asked.conversation) as page:
        await page.frame()
        await in_database(conversations.rename)(
            asked.conversation, "A <new> name", actor=people.alice
        )
        frame = await page.frame()
        assert frame.count("A &lt;new&gt; name") == 3  # the list, the heading, and the field in it
        assert f'id="c-{asked.conversation.pk}"' in frame
        assert 'id="title"' in frame


async def test_a_deleted_conversation_falls_silent(people: People, asked: Asked) -> None:
    answer = await Answer(asked).begin()
    await answer.write("One")
    async with Page(people.alice, asked.conversation) as page:
        await page.see(asked.answer, text="One")
        await in_database(factories.erase)(asked.conversation)
        where = str(asked.conversation.pk), str(asked.answer.pk)
        await events.tell(events.Changed(*where))
        assert await page.quiet()


async def test_what_a_page_sends_is_not_listened_to(people: People, asked: Asked) -> None:
    async with Page(people.alice, asked.conversation) as page:
        await page.frame()
        for text in ("hello", "{}", '{"HEADERS": {}}', "x" * 100_000):
            await page.say(text=text)
        await page.say(bytes=b"\x00\xff")
        answer = await Answer(asked).begin()
        await answer.write("Still here")
        await page.see(asked.answer, text="Still here")


@pytest.mark.parametrize(
    ("accept", "sentence"),
    [("tr", "Bu yanıtı durdurdunuz."), ("de, en", "You stopped this answer.")],
)
async def test_frames_speak_the_language_of_the_page(
    people: People, asked: Asked, accept: str, sentence: str
) -> None:
    async with Page(people.alice, asked.conversation, accept_language=accept) as page:
        await page.see(asked.answer, state="queued")
        await in_database(generations.stop)(asked.answer, actor=people.alice)
        await page.see(asked.answer, state="stopped")
        assert sentence in page.frames[-1]
