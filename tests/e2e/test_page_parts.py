"""The parts around a conversation as a person uses them: model, title, files, very long texts."""

from __future__ import annotations

from playwright.async_api import Page, expect

from tests.e2e.test_accessible import no_fault
from tests.e2e.visitor import Visitor

DRAG = """name => {
    const dataTransfer = new DataTransfer();
    dataTransfer.items.add(new File(["secret"], "report.pdf", {type: "application/pdf"}));
    const event = new DragEvent(name, {dataTransfer, bubbles: true, cancelable: true});
    return !document.querySelector("#messages").dispatchEvent(event);
}"""
# Each settles with the frame after the next: by then the page has answered.
GROW = """async () => {
    const block = document.createElement("p");
    block.textContent = "More and more words of the answer. ".repeat(200);
    document.querySelector("article.answer .prose").append(block);
    for (const _ of [1, 2]) await new Promise(requestAnimationFrame);
}"""
UP = """async place => {
    place.scrollBy(0, -500);
    for (const _ of [1, 2]) await new Promise(requestAnimationFrame);
}"""
PLACE = "place => [place.scrollTop, place.scrollHeight - place.scrollTop - place.clientHeight]"
FILL_CLIPBOARD = "text => navigator.clipboard.writeText(text.part.repeat(text.times))"


async def test_a_model_is_chosen_and_described(visitor: Visitor) -> None:
    alice = await visitor.person(visitor.house.alice)
    page = alice.page
    await alice.composer.fill("Half a question")
    picker, models = page.locator("[popovertarget=models]"), page.locator("#models")
    await picker.focus()
    await page.keyboard.press("Enter")
    await expect(models).to_contain_text("on this machine")
    assert not await no_fault(alice, "models")
    await page.keyboard.press("Escape")
    await expect(models).not_to_be_visible()
    await expect(picker).to_be_focused()
    await page.keyboard.press("Enter")
    await models.get_by_role("link").first.click()
    await page.wait_for_url("**/?model=*")
    await expect(alice.composer).to_have_value("Half a question")
    await alice.composer.press("Enter")
    await alice.until_state("done")
    await picker.click()
    await models.get_by_role("button").first.click()
    await alice.page.wait_for_load_state("load")
    await expect(page.locator("article.question")).to_have_count(1)


async def test_the_title_is_written_over_where_it_stands(visitor: Visitor) -> None:
    visitor.forgive("status of 422")
    alice = await visitor.person(visitor.house.alice)
    page = alice.page
    await alice.ask("Name a hill.")
    await alice.until_state("done")
    title, field = page.get_by_role("heading", level=1), page.locator("#new-title")
    before = await title.inner_text()
    await title.get_by_role("button").click()
    await expect(field).to_be_focused()
    assert not await no_fault(alice, "rename")
    await field.fill("Something else")
    await page.keyboard.press("Escape")
    await expect(field).not_to_be_visible()
    await expect(title).to_have_text(before)
    await expect(title.get_by_role("button")).to_be_focused()
    await page.keyboard.press("Enter")
    await field.fill("\u200b")
    await page.keyboard.press("Enter")
    await expect(page.locator("#rename-problem")).to_contain_text("cannot be seen")
    await expect(field).to_be_focused()
    await field.fill("Tepeler")
    await page.keyboard.press("Enter")
    await expect(title).to_have_text("Tepeler")
    await expect(field).not_to_be_visible()
    await expect(page.locator("nav a[aria-current=page]")).to_have_text("Tepeler")
    await expect(title.get_by_role("button")).to_be_focused()
    await page.reload()
    await expect(title).to_have_text("Tepeler")


async def test_a_file_over_the_page_is_told_and_goes_nowhere(visitor: Visitor) -> None:
    alice = await visitor.person(visitor.house.alice)
    page, told = alice.page, alice.page.locator("#no-files")
    sent: list[str] = []
    before = page.url
    page.on("request", lambda r: sent.append(r.url) if r.method != "GET" else None)
    assert await page.evaluate(DRAG, "dragover")
    await expect(told).to_contain_text("Nothing is uploaded.")
    assert not await no_fault(alice, "a file over the page")
    assert await page.evaluate(DRAG, "dragleave")
    await expect(told).not_to_be_visible()
    await page.evaluate(DRAG, "dragover")
    assert await page.evaluate(DRAG, "drop")
    await expect(told).to_be_visible()
    assert (sent, page.url) == ([], before)
    await page.keyboard.press("Escape")
    await expect(told).not_to_be_visible()


async def pasted(page: Page, part: str, times: int) -> int:
    """Paste as people do; how long the text of the field is then."""
    await page.evaluate(FILL_CLIPBOARD, {"part": part, "times": times})
    await page.locator("#text").focus()
    await page.keyboard.press("Control+V")
    return await page.evaluate("document.querySelector('#text').value.length")


async def test_very_long_texts_stay_in_the_field(visitor: Visitor) -> None:
    context = await visitor.context(permissions=["clipboard-read", "clipboard-write"])
    alice = await visitor.window(context)
    await alice.sign_in(visitor.house.alice)
    page = alice.page
    assert await pasted(page, "ş", 100_000) == 100_000
    await expect(alice.composer).to_have_class("unbroken")
    await expect(page.locator("#room")).to_contain_text("characters too many")
    assert not await no_fault(alice, "a long word")
    await expect(page.get_by_role("button", name="Send")).to_be_disabled()
    await alice.composer.fill("Kept")
    await alice.composer.press("End")
    await page.keyboard.type("!")
    await expect(alice.composer).not_to_have_class("unbroken")
    await alice.composer.fill("Kept")
    assert await pasted(page, "Ölçülmeyen şey yönetilemez.\n", 380_000) == len("Kept")
    await expect(page.locator("#problem")).to_contain_text("far too long")
    await alice.composer.press("End")
    await page.keyboard.type("!")
    await expect(alice.composer).to_have_value("Kept!")
    await expect(page.locator("#problem")).to_be_empty()


async def test_the_page_follows_only_who_reads_the_newest(visitor: Visitor) -> None:
    alice = await visitor.person(visitor.house.alice)
    page, scroller = alice.page, alice.page.locator("#scroller")
    newest = page.get_by_role("button", name="To the newest")
    await alice.ask("Name a bridge.")
    await alice.until_state("done")
    for _ in range(2):
        await page.evaluate(GROW)
        assert (await scroller.evaluate(PLACE))[1] < 4
    await expect(newest).to_be_hidden()
    await scroller.evaluate(UP)
    await expect(newest).to_be_visible()
    before, _ = await scroller.evaluate(PLACE)
    await page.evaluate(GROW)
    assert (await scroller.evaluate(PLACE))[0] == before
    await newest.click()
    await expect(newest).to_be_hidden()
    await expect(alice.composer).to_be_focused()
    await page.evaluate(GROW)
    assert (await scroller.evaluate(PLACE))[1] < 4
