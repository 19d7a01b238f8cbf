"""Finding again what was said: while typing, by keyboard alone, and without scripts."""

from __future__ import annotations

from playwright.async_api import expect

from tests.e2e.visitor import Visitor


async def test_what_was_asked_is_found_while_typing(visitor: Visitor) -> None:
    alice = await visitor.person(visitor.house.alice)
    page = alice.page
    path = await alice.ask("Answer in one word: what does the ZÜRAFA eat?")
    await alice.until_state("done", "stopped")
    await alice.open("/")
    field = page.get_by_role("searchbox")
    await field.focus()
    await page.keyboard.type("zurafa")
    await expect(page.locator("#found mark").first).to_have_text("ZÜRAFA")
    await expect(page.locator("#announcer")).to_have_text("1 conversation found")
    await expect(page.locator("nav.conversations")).to_be_hidden()

    await page.keyboard.press("Tab")
    await expect(page.locator("#found a").first).to_be_focused()
    await page.keyboard.press("Tab")
    await expect(page.locator("#found a.quotation").first).to_be_focused()
    await page.keyboard.press("Enter")
    await page.wait_for_url(f"**{path.partition('?')[0]}?at=*")
    await expect(page.locator("article.question", has_text="ZÜRAFA")).to_be_in_viewport()

    await field.fill("zurafa-nothing-of-the-kind")
    await expect(page.locator("#announcer")).to_contain_text("Nothing found")
    await field.fill("")
    await expect(page.locator("nav.conversations")).to_be_visible()


async def test_search_is_a_page_without_scripts(visitor: Visitor) -> None:
    alice = await visitor.person(visitor.house.alice)
    await alice.ask("Answer in one word: who lives in the KÖŞK?")
    await alice.until_state("done", "stopped")
    reader = await visitor.person(visitor.house.alice, java_script_enabled=False)
    page = reader.page
    await page.get_by_role("searchbox").fill("köşk")
    await page.get_by_role("searchbox").press("Enter")
    await page.wait_for_url("**/search/?q=*")
    await expect(page.locator("main mark").first).to_have_text("KÖŞK")
    await page.locator("main a.quotation").first.click()
    await expect(page.locator("article.question", has_text="KÖŞK")).to_be_visible()
