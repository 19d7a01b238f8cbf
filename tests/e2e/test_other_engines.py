"""An engine elsewhere, from its address to its end: added, asked, seen thinking, taken away."""

from __future__ import annotations

from playwright.async_api import expect

from engine_adapter.script import Rule, Script
from tests.e2e.test_accessible import no_fault
from tests.e2e.visitor import Visitor, Window
from tests.listening import listening

THOUGHTS = ("Let me ", "look at **it** ", *(f"step {n} " for n in range(40)))
WORDS = ("It is ", *(f"word{n} " for n in range(40)), "blue.")
THINKER = Script(default=Rule(WORDS, reasoning=THOUGHTS, pace=16), model="thinker-32b")


async def add_engine(ada: Window, address: str) -> None:
    """Look at a wrong address first, then at the right one, and add it."""
    page = ada.page
    await page.get_by_role("link", name="Models", exact=True).click()
    await page.get_by_role("link", name="Add an engine").click()
    await page.get_by_label("Name", exact=True).fill("GPU room")
    await page.get_by_label("Address").fill("http://127.0.0.1:9")
    await page.get_by_role("button", name="Test the connection").click()
    await expect(page.get_by_text("nothing listens at this port")).to_be_visible()
    await page.get_by_label("Address").fill(address)
    await page.get_by_role("button", name="Test the connection").click()
    await expect(page.get_by_text("Its models can be listed.")).to_be_visible()
    assert not await no_fault(ada, "an engine that was looked at")
    await page.get_by_label("Kind").select_option("openai")
    await page.get_by_role("button", name="Add", exact=True).click()
    await expect(page.get_by_role("link", name="thinker-32b")).to_be_visible()


async def pin_one(ada: Window) -> None:
    """The page hears by itself how the models are; one is kept in memory, and given free again."""
    page = ada.page
    await expect(page.locator("#asking")).to_have_attribute("hx-trigger", "htmx:wsClose from:body")
    row = page.get_by_role("row", name="smollm2")
    await row.get_by_role("button", name="Pin").click()
    await expect(row.get_by_text("pinned in memory")).to_be_visible(timeout=20_000)
    assert not await no_fault(ada, "a pinned model")
    await row.get_by_role("button", name="Unpin").click()
    await expect(row.get_by_role("button", name="Unload")).to_be_visible(timeout=20_000)


async def test_an_engine_is_added_asked_and_taken_away(visitor: Visitor) -> None:
    ada = await visitor.person(visitor.house.administrator)
    with listening(THINKER) as address:
        await add_engine(ada, address)
        assert not await no_fault(ada, "models")
        await pin_one(ada)
        alice = await visitor.person(visitor.house.alice)
        page = alice.page
        await page.locator("button.model").click()
        await page.locator("#models a", has_text="thinker-32b").click()
        path = await alice.ask("Why is the sky blue?")
        folded = alice.answer.locator(".reasoning")
        await expect(folded.get_by_text("Thinking…")).to_be_visible(timeout=20_000)
        await folded.locator("summary").click()
        await expect(folded.locator(".thoughts")).to_contain_text("look at **it**")
        # The summary has the focus, and says something else all the same.
        await expect(folded.locator("summary")).to_contain_text("Thought for", timeout=20_000)
        await expect(folded.locator(".thoughts strong")).to_have_text("it")
        await expect(alice.answer).to_have_attribute("data-state", "done", timeout=30_000)
        await expect(folded.locator(".thoughts")).to_be_visible()
        assert not await no_fault(alice, "thoughts unfolded")
        await page.reload()
        await expect(folded.locator(".thoughts")).to_be_hidden()
        await expect(alice.answer.locator(".prose").last).to_contain_text("blue.")
        await folded.locator("summary").click()
        await expect(folded.locator(".thoughts strong")).to_have_text("it")
    await remove_engine(ada)
    await alice.open(path)
    await expect(page.locator(".lost")).to_contain_text("thinker-32b")
    assert not await no_fault(alice, "a model that is gone")
    await page.locator("button.model").click()
    await page.locator("#models button", has_text="smollm2").click()
    await expect(page.locator(".lost")).to_have_count(0)


async def remove_engine(ada: Window) -> None:
    """Its page has the button."""
    page = ada.page
    for pages in ("Load", "Usage", "Models"):
        await page.locator(".tabs").get_by_role("link", name=pages).click()
        assert not await no_fault(ada, pages)
    await page.get_by_role("link", name="Change GPU room").click()
    await page.get_by_role("button", name="Remove GPU room").click()
    await expect(page.get_by_role("link", name="thinker-32b")).to_have_count(0)
