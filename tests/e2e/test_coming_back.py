"""An answer belongs to the runner: reload, close the page, open a second tab."""

from __future__ import annotations

import psycopg
from playwright.async_api import expect

from tests.e2e.visitor import Visitor

LONG = "Write a long story about a lighthouse keeper. Take your time and tell every detail."


async def test_reload_in_mid_answer_shows_everything_and_streams_on(visitor: Visitor) -> None:
    alice = await visitor.person(visitor.house.alice)
    await alice.ask(LONG)
    before = await alice.until_words(6)

    await alice.page.reload()

    after = await alice.words()
    assert after.startswith(before[:-10])
    assert await alice.answer.get_attribute("data-state") == "running"
    await expect(alice.answer.locator(".prose")).not_to_have_text(after)
    await alice.page.get_by_role("button", name="Stop").click()
    await alice.until_state("stopped", "done")


async def test_closing_the_page_does_not_stop_the_answer(
    visitor: Visitor, database: psycopg.Connection
) -> None:
    alice = await visitor.person(visitor.house.alice)
    path = await alice.ask("Count slowly from one to twenty in words.")
    await alice.until_words(2)
    context = alice.page.context

    await alice.page.close()

    again = await visitor.window(context)
    await again.open(path)
    await again.until_state("done")
    [(state, text)] = database.execute(
        "SELECT g.state, m.text FROM chat_generation g JOIN chat_message m ON m.id = g.message_id"
        " WHERE m.conversation_id = %s",
        [path.split("/")[2]],
    ).fetchall()
    assert state == "done"
    # Not what the page shows: a small model that says "20." has written the number of a list item.
    assert text.strip()


async def test_two_tabs_show_the_same_stream(visitor: Visitor) -> None:
    first = await visitor.person(visitor.house.alice)
    path = await first.ask(LONG)
    second = await visitor.window(first.page.context)
    await second.open(path)
    await second.until_words(8)
    assert await second.answer.get_attribute("data-state") == "running"

    # Stop in one tab ends the answer in both.
    await second.page.get_by_role("button", name="Stop").click()
    stopped = await first.until_state("stopped", "done")
    await second.until_state("stopped", "done")
    assert await second.words() == stopped

    # A question asked in one tab arrives in the other one as well.
    await first.ask("Thank you. What is one plus one?")
    await expect(second.page.locator("article.question")).to_have_count(2)
    await first.until_state("done")
    await second.until_state("done")
    assert await second.words() == await first.words()


async def test_the_whole_history_is_there_later(visitor: Visitor) -> None:
    alice = await visitor.person(visitor.house.alice)
    path = await alice.ask("Say the word harbour.")
    await alice.until_state("done")
    await alice.ask("Say the word island.")
    second = await alice.until_state("done")

    later = await visitor.person(visitor.house.alice)
    await later.open("/")
    await later.page.locator(f'nav a[href="{path}"]').click()

    questions = later.page.locator("article.question .text")
    await expect(questions).to_have_text(["Say the word harbour.", "Say the word island."])
    await expect(later.page.locator("article.answer")).to_have_count(2)
    assert await later.words() == second
