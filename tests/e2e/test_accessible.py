"""Every page and state by axe-core: no serious fault, in both looks, wide and narrow."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import pytest
from axe_playwright_python.async_playwright import Axe
from playwright.async_api import Page

from tests.e2e.rich import bring_in
from tests.e2e.visitor import Visitor, Window
from tests.people import People, browser

Act = Callable[[Page], Awaitable[None]]
WIDE, NARROW = {"width": 1280, "height": 800}, {"width": 320, "height": 640}
LOOKS = [("light", WIDE), ("dark", NARROW)]
MOVING = "document.getAnimations().map(({ animationName }) => animationName)"
AXE = {"runOnly": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"]}


async def no_fault(window: Window, where: str, within: str | None = None) -> list[str]:
    """What axe finds that hinders people, and whether the page can be moved sideways."""
    await window.page.evaluate("document.fonts.ready")
    found = await Axe().run(window.page, within, options=AXE)
    faults = [
        f"{where}: {fault['id']} ({fault['impact']}): {node['html'][:200]}"
        for fault in found.response["violations"]
        if fault["impact"] in ("serious", "critical")
        for node in fault["nodes"]
    ]
    wide = await window.page.evaluate(
        "document.documentElement.scrollWidth > document.documentElement.clientWidth"
    )
    return [*faults, *([f"{where}: moves sideways"] if wide else [])]


async def press(page: Page, selector: str) -> None:
    await page.locator(selector).first.click()


@pytest.mark.parametrize(("scheme", "viewport"), LOOKS, ids=["light-wide", "dark-narrow"])
async def test_a_person_s_pages(visitor: Visitor, scheme: str, viewport: dict[str, int]) -> None:
    visitor.forgive("404|422")
    options = {"color_scheme": scheme, "viewport": viewport, "locale": "tr-TR"}
    door = await visitor.window(**options)
    await door.open("/accounts/sign-in/")
    faults = await no_fault(door, "sign-in")
    alice = await visitor.person(visitor.house.alice, **options)
    page = alice.page
    talk = await bring_in(page, visitor.house.url)
    faults += await no_fault(alice, "conversation")
    doors = (".reasoning summary", "[popovertarget=menu]", "a[href*='/edit/']")
    for name, selector in zip(("thoughts", "menu", "edit"), doors, strict=True):
        await press(page, selector)
        await page.wait_for_timeout(300)
        faults += await no_fault(alice, name)
        await page.keyboard.press("Escape")
    paths = [
        "/", "/history/", "/history/archive/", "/conversations/import/", "/search/?q=eczane",
        "/accounts/me/", "/accounts/me/password/", "/accounts/me/sessions/", "/accounts/me/data/",
        f"{talk.partition('?')[0]}share/", f"{talk.partition('?')[0]}rename/",
        f"{talk.partition('?')[0]}delete/", "/nothing-here/",
    ]  # fmt: skip
    for path in paths:
        await alice.open(path)
        faults += await no_fault(alice, path)
    await alice.open("/history/")
    await press(page, ".ticks input")
    faults += await no_fault(alice, "conversations that are ticked")
    await alice.open(paths[9])
    await page.locator("#id_people").fill("bob@konak.example.org")
    await press(page, "main form button.primary")
    link = await page.locator("textarea.copyable").first.input_value()
    faults += await no_fault(alice, "a link is made")
    await alice.open("/shared/" + link.rsplit("/shared/")[1])
    faults += await no_fault(alice, "shared")
    assert not faults, "\n".join(faults)


@pytest.mark.parametrize(("scheme", "viewport"), LOOKS, ids=["light-wide", "dark-narrow"])
async def test_an_administrator_s_pages(
    visitor: Visitor, scheme: str, viewport: dict[str, int]
) -> None:
    options = {"color_scheme": scheme, "viewport": viewport}
    admin = await visitor.person(visitor.house.administrator, **options)
    faults: list[str] = []
    paths = (
        *("/accounts/people/", "/accounts/people/add/", "/accounts/groups/", "/starters/"),
        *("/models/", "/models/load/", "/models/usage/", "/engines/add/"),
    )
    for path in paths:
        await admin.open(path)
        faults += await no_fault(admin, path)
    await admin.open("/accounts/people/")
    await press(admin.page, "tbody a")
    faults += await no_fault(admin, "a person")
    await admin.open("/models/")
    await admin.page.locator(".engine button").first.wait_for()
    faults += await no_fault(admin, "models that say how they are doing")
    await press(admin.page, "tbody a")
    faults += await no_fault(admin, "a model")
    await admin.page.get_by_role("link", name="How many people can it serve?").click()
    faults += await no_fault(admin, "capacity")
    assert not faults, "\n".join(faults)


LINES = """selector => {
    const line = style => [style.outlineStyle, style.outlineWidth, style.borderTopWidth];
    return [...document.querySelectorAll(selector)].map(part => line(getComputedStyle(part)));
}"""


async def told_apart_without_tints(window: Window) -> list[str]:
    """Where the system sets every colour, lines say what is chosen, pressed, first or focused."""
    page = window.page
    await page.emulate_media(forced_colors="active")
    for attribute in ("aria-current", "aria-pressed"):
        await page.locator("main button:enabled").first.evaluate(
            "(part, attribute) => part.setAttribute(attribute, 'true')", attribute
        )
        lines = await page.evaluate(LINES, f"[{attribute}=true]")
        assert {(style, width) for style, width, _ in lines} == {("solid", "2px")}, attribute
        await page.locator(f"main [{attribute}]").first.evaluate(
            "(part, attribute) => part.removeAttribute(attribute)", attribute
        )
    assert {border for *_, border in await page.evaluate(LINES, "main .primary")} == {"2px"}
    await page.locator("main button.primary:enabled").first.focus()
    await page.keyboard.press("Shift+Tab")
    [[style, width, _]] = await page.evaluate(LINES, ":focus-visible")
    assert (style, width) == ("solid", "3px")
    assert (
        await page.evaluate("getComputedStyle(document.querySelector('.table')).backgroundImage")
        == "none"
    )
    faults = await no_fault(window, "forced colours")
    await page.emulate_media(forced_colors="none")
    return faults


@pytest.fixture
def design(people: People, settings: object) -> str:
    """The page of every component in every state, which only a developer's house shows."""
    settings.DEBUG = True
    return browser(people.alice).get("/design/").content.decode()


@pytest.mark.django_db
@pytest.mark.parametrize(("scheme", "viewport"), LOOKS, ids=["light-wide", "dark-narrow"])
async def test_every_component_in_every_state(
    design: str, visitor: Visitor, scheme: str, viewport: dict[str, int]
) -> None:
    # A page that comes from nowhere may open no socket to this machine.
    visitor.forgive("ERR_BLOCKED_BY_LOCAL_NETWORK_ACCESS_CHECKS|^.object Event.$")
    alice = await visitor.person(visitor.house.alice, color_scheme=scheme, viewport=viewport)
    await alice.page.route("**/design/", lambda route: route.fulfill(body=design))
    await alice.open("/design/")
    for part in await alice.page.locator("main .reasoning summary").all():
        await part.click()
    faults = await no_fault(alice, "design")
    for name in ("design-menu", "models", "keys", "no-files"):
        await alice.page.locator(f"#{name}").evaluate("part => part.showPopover()")
        faults += await no_fault(alice, name, f"#{name}")
        await alice.page.keyboard.press("Escape")
    faults += await told_apart_without_tints(alice)
    await alice.page.emulate_media(reduced_motion="reduce")
    # Stop alone keeps its own: for a moment it takes no click.
    assert set(await alice.page.evaluate(MOVING)) <= {"settle"}
    assert not faults, "\n".join(faults)
