"""A temporary chat in a browser: asked, stopped, gone with the page and with its connection."""

from __future__ import annotations

import re

import pytest
from playwright.async_api import expect

from tests.e2e.test_accessible import LOOKS, no_fault
from tests.e2e.visitor import PAGE_LIMIT_MS, Visitor, Window

WORD = "yalıçapkını"
LONG = "Write a long story about a lighthouse keeper. Take your time and tell every detail."


async def temporary(visitor: Visitor, **options: object) -> Window:
    """Alice on an empty temporary chat, by the link beside "New chat"."""
    alice = await visitor.person(visitor.house.alice, **options)
    if options["viewport"]["width"] < 800:
        await alice.page.locator("header [popovertarget=sidebar]").click()
    await alice.page.locator("#sidebar a[href='/temporary/']").click()
    await alice.page.wait_for_url("**/temporary/")
    return alice


@pytest.mark.parametrize(("scheme", "viewport"), LOOKS, ids=["light-wide", "dark-narrow"])
async def test_it_is_asked_stopped_and_gone(
    visitor: Visitor, scheme: str, viewport: dict[str, int]
) -> None:
    options = {"color_scheme": scheme, "viewport": viewport, "locale": "tr-TR"}
    alice = await temporary(visitor, **options)
    page = alice.page
    faults = await no_fault(alice, "empty")
    await expect(page.get_by_text("Bu sohbetten hiçbir şey saklanmaz.")).to_be_visible()
    await alice.ask(f"{LONG} Call it {WORD}.")
    await expect(alice.composer).to_have_value("")
    await page.locator("#stop").click()
    await alice.until_state("stopped")
    faults += await no_fault(alice, "an answer")
    await alice.ask(f"Peki {WORD} nerede yaşar?")
    await alice.until_state("done")
    await expect(page.locator("article.answer")).to_have_count(2)
    await alice.composer.fill(f"Son bir {WORD} sorusu")
    await page.wait_for_timeout(500)  # longer than a draft waits before it is stored
    stored = await page.evaluate("JSON.stringify({...localStorage, ...sessionStorage})")
    assert WORD not in stored
    assert "temporary" in page.url and WORD not in page.url
    await page.reload()
    await expect(page.locator("article")).to_have_count(0)
    await expect(alice.composer).to_have_value("")
    await alice.open("/history/")
    assert WORD not in await page.content()
    assert not faults, "\n".join(faults)


@pytest.mark.parametrize(("scheme", "viewport"), LOOKS, ids=["light-wide", "dark-narrow"])
async def test_when_the_connection_breaks_the_page_says_that_it_is_gone(
    visitor: Visitor, scheme: str, viewport: dict[str, int]
) -> None:
    alice = await temporary(visitor, color_scheme=scheme, viewport=viewport)
    page = alice.page
    await alice.ask(LONG)
    await alice.until_words()
    await expect(page.locator("#over")).to_be_hidden()
    # The socket that htmx holds, closed from outside as a broken line closes it.
    await page.evaluate(
        "document.querySelector('[ws-connect]')['htmx-internal-data'].webSocket.socket.close()"
    )
    over = page.locator("#over")
    await expect(over).to_be_visible(timeout=PAGE_LIMIT_MS)
    await expect(over).to_contain_text("nothing of it was kept")
    await expect(alice.composer).to_be_hidden()
    faults = await no_fault(alice, "gone")
    await over.get_by_role("link", name=re.compile("New temporary chat")).click()
    await expect(alice.composer).to_be_visible()
    await expect(page.locator("article")).to_have_count(0)
    assert not faults, "\n".join(faults)
