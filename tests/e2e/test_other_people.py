"""What is not yours is not there; whoever is deactivated is out at once."""

from __future__ import annotations

from playwright.async_api import expect

from tests.e2e.house import invite, link_on, sign_in
from tests.e2e.visitor import Visitor


async def test_a_strangers_address_is_nothing(visitor: Visitor) -> None:
    alice = await visitor.person(visitor.house.alice)
    path = await alice.ask("What is a private conversation?")
    await alice.until_words(1)
    visitor.forgive("status of 404")

    for email in (visitor.house.mallory, visitor.house.bob, visitor.house.administrator):
        stranger = await visitor.person(email)
        reply = await stranger.page.goto(visitor.house.url + path)
        assert reply and reply.status == 404
        await expect(stranger.page.get_by_role("heading", level=1)).to_have_text(
            "There is nothing here"
        )


async def test_an_administrator_adds_and_deactivates_a_person(visitor: Visitor) -> None:
    house = visitor.house
    administrator = await visitor.person(house.administrator)
    await administrator.page.get_by_role("link", name="People and groups").click()
    await administrator.page.get_by_role("link", name="Groups", exact=True).click()
    await administrator.page.get_by_label("Name of the new group").fill("Ward 3")
    await administrator.page.get_by_role("button", name="Add the group").click()
    await administrator.page.get_by_role("link", name="People", exact=True).click()
    await administrator.page.get_by_role("link", name="Add a person").click()
    await administrator.page.get_by_label("Name", exact=True).fill("Deniz")
    await administrator.page.get_by_label("E-mail address").fill("deniz@konak.example.org")
    await administrator.page.get_by_label("Ward 3").check()
    await administrator.page.get_by_role("button", name="Add", exact=True).click()
    link = await administrator.page.get_by_label("One-time link").input_value()

    deniz = await visitor.window()
    await deniz.page.goto(link)
    await deniz.page.get_by_label("Password", exact=True).fill("mavi-kapi-sepet-9")
    await deniz.page.get_by_label("The same password again").fill("mavi-kapi-sepet-9")
    await deniz.page.get_by_role("button", name="Set the password").click()
    await deniz.ask("Good morning.")
    await deniz.until_state("done")

    await administrator.open("/accounts/people/")
    row = administrator.page.get_by_role("row", name="Deniz")
    await expect(row).to_contain_text("Ward 3")
    await row.get_by_role("link", name="Deniz").click()
    await administrator.page.get_by_role("button", name="Deactivate Deniz").click()

    # The open page notices by itself, and the door stays shut.
    await expect(deniz.page.get_by_role("heading", name="Sign in")).to_be_visible(timeout=6_000)
    visitor.forgive("status of 422")
    await deniz.page.get_by_label("E-mail address").fill("deniz@konak.example.org")
    await deniz.page.get_by_label("Password", exact=True).fill("mavi-kapi-sepet-9")
    await deniz.page.get_by_role("button", name="Sign in").click()
    await expect(deniz.page.get_by_role("alert")).to_contain_text("is not right")


async def test_a_link_works_once(visitor: Visitor) -> None:
    house = visitor.house
    administrator = sign_in(house, house.administrator)
    page = invite(house, administrator, "Efe", "efe@konak.example.org")
    shown = administrator.post(page, {}, to=page + "link/")
    link = link_on(shown)
    administrator.close()
    visitor.forgive("status of 404")

    window = await visitor.window()
    await window.page.goto(link)
    await window.page.get_by_label("Password", exact=True).fill("yeni-bir-parola-3")
    await window.page.get_by_label("The same password again").fill("yeni-bir-parola-3")
    await window.page.get_by_role("button", name="Set the password").click()
    await expect(window.composer).to_be_visible()
    other = await visitor.window()
    await other.page.goto(link)
    await expect(other.page.get_by_role("heading", level=1)).to_have_text(
        "This link no longer works"
    )
