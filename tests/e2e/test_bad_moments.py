"""Bad input and bad moments: a sentence, and the text is still there."""

from __future__ import annotations

import asyncio
import os
import signal

import psycopg
from playwright.async_api import expect

from tests.e2e.house import House
from tests.e2e.visitor import Visitor


async def test_too_long_a_message_is_told_before_sending(visitor: Visitor) -> None:
    alice = await visitor.person(visitor.house.alice)
    limit = int(await alice.page.locator("#composer").get_attribute("data-limit") or 0)
    text = "ş" * (limit + 3)
    await alice.composer.fill(text)
    await expect(alice.page.locator("#room")).to_contain_text("3 characters too many")
    await expect(alice.page.get_by_role("button", name="Send")).to_be_disabled()
    await alice.composer.press("Enter")
    assert await alice.composer.input_value() == text
    await expect(alice.page.locator("article")).to_have_count(0)


async def test_an_empty_message_is_not_sent(visitor: Visitor) -> None:
    alice = await visitor.person(visitor.house.alice)
    await alice.composer.fill("  \n ")
    await alice.composer.press("Enter")
    await expect(alice.page.locator("article")).to_have_count(0)


async def test_a_session_that_ends_while_writing_loses_nothing(
    visitor: Visitor, database: psycopg.Connection
) -> None:
    visitor.forgive("WebSocket|status of 4")
    alice = await visitor.person(visitor.house.alice)
    path = await alice.ask("Remember the number seven.")
    await alice.until_state("done")
    await alice.composer.fill("And which number did I name?")
    database.execute(
        "DELETE FROM accounts_session WHERE user_id ="
        " (SELECT id FROM accounts_user WHERE email = %s)",
        [visitor.house.alice],
    )
    await alice.composer.press("Enter")
    await expect(alice.page.get_by_role("heading", name="Sign in")).to_be_visible(timeout=10_000)
    await alice.page.get_by_label("E-mail address").fill(visitor.house.alice)
    from tests.e2e.house import PASSWORD

    await alice.page.get_by_label("Password").fill(PASSWORD)
    await alice.page.get_by_role("button", name="Sign in").click()
    await alice.page.wait_for_url(visitor.house.url + path)
    await expect(alice.composer).to_have_value("And which number did I name?")
    await alice.composer.press("Enter")
    await expect(alice.page.locator("article.question")).to_have_count(2)
    await alice.until_state("done")


async def test_a_page_that_cannot_reach_the_house_keeps_the_text(visitor: Visitor) -> None:
    visitor.forgive("ERR_INTERNET_DISCONNECTED|htmx:sendError|htmx:afterRequest|WebSocket")
    alice = await visitor.person(visitor.house.alice)
    await alice.page.context.set_offline(True)
    await alice.composer.fill("Can you hear me?")
    await alice.composer.press("Enter")
    await expect(alice.page.locator("#problem")).to_contain_text("cannot be reached")
    await expect(alice.composer).to_have_value("Can you hear me?")
    await alice.page.context.set_offline(False)
    await alice.composer.press("Enter")
    await expect(alice.page.locator("article.question")).to_have_count(1)


async def test_an_engine_that_is_down_keeps_the_message(visitor: Visitor, house: House) -> None:
    alice = await visitor.person(house.alice)
    # Held still, the supervisor does not start the engine again before the person has seen it.
    os.kill(house.appliance.process.pid, signal.SIGSTOP)
    try:
        os.kill(house.appliance.pids()["engine"], signal.SIGKILL)
        await alice.ask("Tell me a story, is anybody there?")
        await alice.until_state("failed")
        broken = alice.answer.get_by_role("status")
        await expect(broken).to_contain_text("The engine is not answering; your message is kept.")
    finally:
        os.kill(house.appliance.process.pid, signal.SIGCONT)
    await asyncio.to_thread(house.appliance.until_ready)
    await broken.get_by_role("button", name="Retry").click()
    await alice.until_state("done")
    await expect(alice.page.locator("article.question .text")).to_have_text(
        "Tell me a story, is anybody there?"
    )
    assert await alice.words()
