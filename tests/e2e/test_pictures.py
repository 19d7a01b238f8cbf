"""The pictures of the README, and the page in both languages and every width."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.async_api import expect

from tests.e2e.rich import bring_in
from tests.e2e.visitor import Visitor

QUESTION = "Explain in a short list why the sea is salty, and end with one sentence."


async def test_the_chat_as_the_readme_shows_it(visitor: Visitor, output: Path) -> None:
    alice = await visitor.person(
        visitor.house.alice, viewport={"width": 1440, "height": 900}, device_scale_factor=1
    )
    await alice.ask(QUESTION)
    await alice.until_state("done")
    await expect(alice.page.locator("nav a[aria-current=page]")).to_be_visible()
    await alice.page.screenshot(path=output / "chat.png")
    await alice.page.emulate_media(color_scheme="dark")
    await alice.page.screenshot(path=output / "chat-dark.png")


@pytest.mark.parametrize(
    ("width", "height", "scheme", "locale"),
    [(1440, 900, "dark", "en-GB"), (1024, 768, "light", "tr-TR"), (390, 844, "light", "tr-TR"),
     (320, 640, "dark", "en-GB")],
)  # fmt: skip
async def test_a_rich_conversation_as_the_readme_shows_it(
    visitor: Visitor, output: Path, width: int, height: int, scheme: str, locale: str
) -> None:
    bob = await visitor.person(
        visitor.house.bob,
        viewport={"width": width, "height": height},
        color_scheme=scheme,
        locale=locale,
    )
    await bring_in(bob.page, visitor.house.url)
    await bob.page.locator("article.question").first.scroll_into_view_if_needed()
    await bob.page.locator("#scroller").evaluate("place => place.scrollTo(0, 0)")
    await expect(bob.page.locator(".reasoning summary")).to_be_visible()
    await bob.page.screenshot(path=output / f"rich-{width}-{scheme}.png")


@pytest.mark.parametrize("width", [320, 390, 768, 1024, 1440])
async def test_no_page_scrolls_sideways(visitor: Visitor, output: Path, width: int) -> None:
    person = await visitor.person(
        visitor.house.administrator, viewport={"width": width, "height": 800}
    )
    await person.ask("Say this word: " + "Donaudampfschifffahrt" * 12)
    await person.until_words(0)
    conversation = person.page.url.removeprefix(visitor.house.url)
    for path in ("/", conversation, "/accounts/people/", "/accounts/people/add/"):
        await person.open(path)
        wider = await person.page.evaluate(
            "document.documentElement.scrollWidth - document.documentElement.clientWidth"
        )
        assert wider <= 0, f"{path} at {width} px"
    await person.page.screenshot(path=output / f"people-{width}.png")
    await person.open(conversation)
    await person.page.screenshot(path=output / f"chat-{width}.png")


async def test_the_page_speaks_turkish(visitor: Visitor, output: Path) -> None:
    ayse = await visitor.person(visitor.house.bob, locale="tr-TR")
    assert await ayse.page.locator("html").get_attribute("lang") == "tr"
    await expect(ayse.page.get_by_role("link", name="Yeni sohbet")).to_be_visible()
    await ayse.ask("Merhaba")
    # A frame from the socket speaks the language of the page, too.
    await expect(ayse.page.get_by_role("button", name="Durdur")).to_be_visible()
    await ayse.until_state("done")
    await expect(ayse.page.get_by_role("button", name="Gönder")).to_be_visible()
    await ayse.page.screenshot(path=output / "chat-tr.png")
