"""Branches as a person makes them: asked otherwise, written again, gone on from, deleted."""

from __future__ import annotations

import asyncio

from playwright.async_api import Locator, Page, Route, expect

from tests.e2e.visitor import Visitor, Window


def questions(page: Page) -> Locator:
    """What was asked, as the page shows it."""
    return page.locator("article.question .text")


async def another_answer(window: Window) -> None:
    """Have the newest answer written again, until it stands there complete."""
    old = await window.answer.get_attribute("id")
    await window.answer.hover()
    await window.answer.get_by_role("button", name="Write again", exact=True).click()
    await expect(window.page.locator(f"#{old}")).to_have_count(0)
    await window.until_state("done")


async def edit(window: Window, place: int, text: str) -> None:
    """Ask a question otherwise, by keyboard."""
    question = window.page.locator("article.question").nth(place)
    await question.get_by_role("link", name="Edit").focus()
    await window.page.keyboard.press("Enter")
    await expect(question.locator("textarea")).to_be_focused()
    await question.locator("textarea").fill(text)
    await window.page.keyboard.press("Enter")
    await expect(questions(window.page)).to_have_count(place + 1)
    await expect(questions(window.page).last).to_have_text(text)


async def test_versions_are_made_and_switched_by_keyboard(visitor: Visitor) -> None:
    alice = await visitor.person(visitor.house.alice)
    page = alice.page
    await alice.ask("Name a colour.")
    await alice.until_state("done")
    first = await alice.answer.get_attribute("id")
    await another_answer(alice)
    await expect(alice.composer).to_be_focused()
    await expect(alice.answer).to_contain_text("2/2")

    # The focus stays on the button, whichever version it stands under.
    await alice.answer.get_by_role("link", name="Next version").focus()
    for shown in (first, await alice.answer.get_attribute("id")):
        await page.keyboard.press("Enter")
        await expect(alice.answer).to_have_id(shown or "")
        await expect(alice.answer.get_by_role("link", name="Next version")).to_be_focused()
        assert page.url.endswith(f"?at={(shown or '')[2:]}")

    await alice.ask("And an animal.")
    await alice.until_state("done")
    await edit(alice, 0, "Name a fruit.")
    await expect(alice.composer).to_be_focused()
    await alice.until_state("done")
    await page.reload()
    await expect(questions(page)).to_have_text(["Name a fruit."])
    await page.get_by_role("link", name="Previous version").first.click()
    await expect(questions(page)).to_have_text(["Name a colour.", "And an animal."])
    await page.reload()
    await expect(questions(page)).to_have_text(["Name a colour.", "And an animal."])


async def test_a_form_in_a_message_closes_by_escape_and_cancel(visitor: Visitor) -> None:
    alice = await visitor.person(visitor.house.alice)
    await alice.ask("Name a river.")
    await alice.until_state("done")
    question = alice.page.locator("article.question")
    opener = question.get_by_role("link", name="Edit")
    for close in ("Escape", "Cancel"):
        await opener.focus()
        await alice.page.keyboard.press("Enter")
        await expect(question.locator("textarea")).to_be_focused()
        if close == "Escape":
            await alice.page.keyboard.press(close)
        else:
            await question.get_by_role("link", name=close).click()
        await expect(question.locator("textarea")).to_have_count(0)
        await expect(opener).to_be_focused()
        await expect(questions(alice.page)).to_have_text(["Name a river."])


async def test_two_tabs_make_two_branches_and_neither_disturbs_the_other(
    visitor: Visitor,
) -> None:
    one = await visitor.person(visitor.house.alice)
    path = await one.ask("Name a tree.")
    await one.until_state("done")
    other = await visitor.window(one.page.context)
    await other.open(path)

    # The other tab hears of an answer it does not know, and asks what comes after its last one.
    asks, told = asyncio.Event(), asyncio.Event()

    async def hold_up(route: Route) -> None:
        asks.set()
        await told.wait()
        await route.continue_()

    await other.page.route(lambda address: "after=" in address, hold_up)
    await edit(one, 0, "Tell me a very long story about a tree.")
    await one.until_words(3)
    await asks.wait()
    # Before it knows, something else comes into the page.
    await other.page.get_by_role("heading", level=1).get_by_role("button").click()
    await other.page.locator("#new-title").press("Escape")
    await expect(other.page.get_by_role("button", name="Send")).to_be_visible()
    told.set()
    # The other tab keeps its branch, and its composer sends: what is written is not here.
    await expect(questions(other.page)).to_have_text(["Name a tree."])
    await expect(other.page.get_by_role("button", name="Send")).to_be_visible()
    await other.ask("Name a bush.")
    await other.until_state("done")
    await expect(questions(other.page)).to_have_text(["Name a tree.", "Name a bush."])
    await expect(questions(one.page)).to_have_text(["Tell me a very long story about a tree."])
    await one.until_state("done")

    # A third tab that shows the same end as the second hears of what follows there.
    third = await visitor.window(one.page.context)
    await third.open(path)
    await other.ask("And a flower.")
    await expect(questions(third.page)).to_have_count(3)
    assert await third.until_state("done") == await other.until_state("done")
    await third.ask("And moss.")
    await third.until_state("done")
    await expect(questions(other.page)).to_have_count(4)


async def test_a_stopped_answer_is_gone_on_with(visitor: Visitor) -> None:
    alice = await visitor.person(visitor.house.alice)
    await alice.ask("Tell me a very long story about a lighthouse.")
    await alice.until_words(5)
    await alice.page.get_by_role("button", name="Stop").click()
    half = await alice.until_state("stopped", "done")
    await alice.answer.get_by_role("button", name="Continue").click()
    await expect(alice.answer).to_have_attribute("aria-busy", "true")
    whole = await alice.until_state("done")
    assert whole.startswith(half[:20]) and len(whole) > len(half)
    await expect(alice.page.locator("article.answer")).to_have_count(1)


async def test_a_fork_goes_its_own_way_and_a_deleted_branch_is_gone(visitor: Visitor) -> None:
    alice = await visitor.person(visitor.house.alice)
    page = alice.page
    path = await alice.ask("Name a bird.")
    await alice.until_state("done")
    await alice.ask("Name a fish.")
    await alice.until_state("done")
    first = page.locator("article.answer").first
    await first.hover()
    await first.get_by_role("button", name="Go on from here in a new chat").click()
    await expect(questions(page)).to_have_text(["Name a bird."])
    await expect(page.locator("nav a[aria-current=page]")).to_contain_text("(copy)")
    await alice.ask("Name an insect.")
    await alice.until_state("done")

    await alice.open(path)
    second = page.locator("article.question").nth(1)
    await second.hover()
    await second.get_by_role("link", name="Delete from here on").click()
    await expect(second).to_contain_text("2 messages are gone for good")
    await second.get_by_role("button", name="Delete").click()
    await expect(questions(page)).to_have_text(["Name a bird."])
    undo = page.locator(".undo")
    await expect(undo).to_contain_text("2 messages deleted.")
    await undo.get_by_role("button", name="Undo").click()
    await expect(questions(page)).to_have_text(["Name a bird.", "Name a fish."])
    await expect(undo).to_have_count(0)

    # Once more; what is asked in another tab is heard of behind the offer to undo.
    await second.hover()
    await second.get_by_role("link", name="Delete from here on").click()
    await second.get_by_role("button", name="Delete").click()
    await expect(undo).to_be_visible()
    other = await visitor.window(page.context)
    await other.open(path)
    await other.ask("Name a cat.")
    await other.until_state("done")
    await expect(questions(page)).to_have_text(["Name a bird.", "Name a cat."])
    await alice.until_state("done")
    await page.reload()
    await expect(questions(page)).to_have_text(["Name a bird.", "Name a cat."])


async def test_branches_without_scripts(visitor: Visitor) -> None:
    alice = await visitor.person(visitor.house.alice, java_script_enabled=False)
    page = alice.page
    await alice.composer.fill("What is a lamp? Answer in one sentence.")
    await page.get_by_role("button", name="Send").click()
    await alice.until_state("done")
    await page.get_by_role("button", name="Write again", exact=True).click()
    await expect(page.locator("article.answer")).to_contain_text("2/2")
    await alice.until_state("done")
    await page.get_by_role("link", name="Edit").click()
    await page.get_by_label("Your question, asked otherwise").fill("What is a door?")
    await page.get_by_role("button", name="Send").click()
    await expect(questions(page)).to_have_text(["What is a door?"])
    await alice.until_state("done")
    await page.get_by_role("link", name="Previous version").first.click()
    await expect(questions(page)).to_have_text(["What is a lamp? Answer in one sentence."])
    await page.get_by_role("link", name="Delete from here on").first.click()
    await page.get_by_role("button", name="Delete").click()
    await expect(questions(page)).to_have_text(["What is a door?"])
    await page.get_by_role("button", name="Undo").click()
    await expect(questions(page)).to_have_text(["What is a lamp? Answer in one sentence."])
    await page.get_by_role("link", name="Next version").first.click()
    await expect(questions(page)).to_have_text(["What is a door?"])
    await page.get_by_role("button", name="Go on from here in a new chat").click()
    await expect(page.locator("h1")).to_contain_text("(copy)")
