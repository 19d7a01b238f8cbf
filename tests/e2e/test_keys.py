"""Keys that do what buttons do, by what they write and not by where they are on the keyboard."""

from __future__ import annotations

from playwright.async_api import Page, expect

from tests.e2e.test_accessible import no_fault
from tests.e2e.visitor import Visitor

ALT, CTRL, SHIFT = 1, 2, 8


async def strike(page: Page, key: str, code: str, modifiers: int = 0) -> None:
    """One key of any keyboard: what it writes and where it is."""
    line = await page.context.new_cdp_session(page)
    event = {"key": key, "code": code, "modifiers": modifiers}
    await line.send("Input.dispatchKeyEvent", {"type": "rawKeyDown", **event})
    await line.send("Input.dispatchKeyEvent", {"type": "keyUp", **event})


async def leave_the_field(page: Page) -> None:
    await page.evaluate("document.activeElement.blur()")


async def test_the_keys_of_a_turkish_keyboard(visitor: Visitor) -> None:
    context = await visitor.context(permissions=["clipboard-read", "clipboard-write"])
    alice = await visitor.window(context)
    await alice.sign_in(visitor.house.alice)
    page = alice.page
    first = await alice.ask("Name a sea.")
    await alice.until_state("done")
    await leave_the_field(page)
    await strike(page, "?", "Minus", SHIFT)
    listed = page.locator("#keys")
    await expect(listed).to_be_visible()
    await expect(listed.get_by_role("button", name="Close")).to_be_focused()
    assert not await no_fault(alice, "keys")
    await page.keyboard.press("Escape")
    await expect(listed).not_to_be_visible()

    await page.keyboard.press("c")
    await expect(alice.answer.locator(".done")).to_be_visible()
    assert (await page.evaluate("navigator.clipboard.readText()")).strip() == await alice.words()
    await page.keyboard.press("r")
    await expect(page.locator("article.question textarea")).to_be_focused()
    await page.keyboard.press("Escape")
    await page.keyboard.press("m")
    await expect(alice.composer).to_be_focused()

    # With Alt also while somebody writes; AltGr, which writes, is none.
    await strike(page, "n", "KeyN", ALT | CTRL)
    await page.keyboard.type("nkmxrc?")
    await expect(alice.composer).to_have_value("nkmxrc?")
    assert page.url.endswith(first)
    await alice.composer.fill("")
    await page.keyboard.press("Alt+n")
    await page.wait_for_url(visitor.house.url + "/")
    await alice.ask("Tell me a very long story about a lighthouse.")
    await alice.until_words(3)
    await page.keyboard.press("Alt+x")
    await alice.until_state("stopped", "done")
    await page.keyboard.press("Alt+ArrowDown")
    await page.wait_for_url(visitor.house.url + first)
    await page.keyboard.press("Alt+ArrowUp")
    await expect(page.locator("article.question .text")).to_contain_text("lighthouse")
    await page.keyboard.press("Alt+k")
    await expect(page.locator("#search")).to_be_focused()


async def test_single_keys_can_be_switched_off(visitor: Visitor) -> None:
    alice = await visitor.person(visitor.house.alice)
    page = alice.page
    for pressed, works in (("k", True), ("k", False), ("Alt+k", True)):
        await leave_the_field(page)
        await page.keyboard.press(pressed)
        if works:
            await expect(page.locator("#search")).to_be_focused()
        else:
            await expect(page.locator("#search")).not_to_be_focused()
        if pressed == "k" and works:
            await page.get_by_role("button", name="Keyboard").click()
            async with page.expect_response("**/switch/"):
                await page.get_by_label("Use the keys by themselves").uncheck()
            await page.reload()


async def test_the_list_folds_away_and_stays_away(visitor: Visitor) -> None:
    alice = await visitor.person(visitor.house.alice)
    page = alice.page
    sidebar, fold = page.locator("#sidebar"), page.get_by_label("Hide the list of conversations")
    await expect(sidebar).to_be_visible()
    async with page.expect_response("**/switch/"):
        await fold.focus()
        await page.keyboard.press("Space")
    await expect(sidebar).not_to_be_visible()
    assert not await no_fault(alice, "folded")
    # It is not there from the first byte on: there is nothing to flash.
    await alice.open("/history/")
    await expect(sidebar).not_to_be_visible()
    await expect(fold).to_be_checked()
    # Whoever wants to search needs it.
    await page.keyboard.press("k")
    await expect(page.locator("#search")).to_be_focused()
    await expect(sidebar).to_be_visible()
    # Narrow, it is a drawer, whatever was folded.
    await fold.check()
    await page.set_viewport_size({"width": 390, "height": 800})
    await expect(fold).not_to_be_visible()
    await page.locator("header.bar [popovertarget=sidebar]").click()
    await expect(sidebar).to_be_visible()
