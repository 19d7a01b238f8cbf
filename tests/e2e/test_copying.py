"""Copying a block of code and an answer: what is pasted reads as the page does."""

from __future__ import annotations

from playwright.async_api import Page

from tests.e2e.rich import bring_in
from tests.e2e.visitor import Visitor

SHAPE = """async () => {
    const [copied] = await navigator.clipboard.read();
    return (await copied.getType("text/html")).text();
}"""


async def pasted(page: Page) -> str:
    """What the composer gets when somebody pastes there."""
    await page.locator("#text").fill("")
    await page.locator("#text").focus()
    await page.keyboard.press("Control+V")
    return await page.locator("#text").input_value()


async def test_code_and_answers_are_copied_as_they_read(visitor: Visitor) -> None:
    context = await visitor.context(permissions=["clipboard-read", "clipboard-write"])
    alice = await visitor.window(context)
    await alice.sign_in(visitor.house.alice)
    page = alice.page
    await bring_in(page, visitor.house.url)
    block = page.locator("figure.code").first
    await block.hover()
    await block.get_by_role("button", name="Copy").click()
    await block.get_by_role("button", name="Copied").wait_for()
    code = await pasted(page)
    assert code.startswith("def artış(önce: float, sonra: float) -> float:\n    ")
    assert "Copy" not in code
    await page.locator("article.answer").first.locator("button[title=Copy]").click()
    shape = await page.evaluate(SHAPE)
    assert "<table>" in shape and "<button" not in shape
    whole = await pasted(page)
    assert "Önce kısaca" in whole
    assert "def artış" in whole
    assert "1. Önce servis\n2. Sonra müdürlük" in whole
    assert await page.locator("article.answer ol > li").first.inner_text() == "Önce servis"
    assert "Copy" not in whole and "Copied" not in whole


async def test_the_button_comes_by_keyboard_too(visitor: Visitor) -> None:
    alice = await visitor.person(visitor.house.alice)
    await bring_in(alice.page, visitor.house.url)
    await alice.page.locator("figure.code pre").first.focus()
    await alice.page.keyboard.press("Tab")
    assert await alice.page.evaluate("document.activeElement.dataset.copies") == "pre"
