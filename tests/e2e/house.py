"""People move in through the product's own pages, by plain HTTP."""

from __future__ import annotations

import re
from contextlib import closing
from dataclasses import dataclass

import httpx

from tests.appliance import Appliance

PASSWORD = "deniz-kavun-tren-71"


@dataclass
class House:
    """The appliance and the e-mail addresses of the people in it."""

    appliance: Appliance
    administrator: str = "admin@konak.example.org"
    alice: str = "alice@konak.example.org"
    bob: str = "bob@konak.example.org"
    mallory: str = "mallory@konak.example.org"

    @property
    def url(self) -> str:
        """Where the pages are."""
        return self.appliance.url


class Hand:
    """A browser without scripts: opens pages and posts their forms."""

    def __init__(self, url: str) -> None:
        self._client = httpx.Client(base_url=url, follow_redirects=True, timeout=30)

    def get(self, path: str) -> httpx.Response:
        """Open a page."""
        return self._client.get(path)

    def post(self, page: str, fields: dict[str, str], *, to: str | None = None) -> httpx.Response:
        """Fill in and send a form that is on ``page``."""
        token = self.token(self.get(page))
        return self._client.post(
            to or page,
            data={**fields, "csrfmiddlewaretoken": token},
            headers={"Referer": str(self._client.base_url)},
        )

    @staticmethod
    def token(page: httpx.Response) -> str:
        """The hidden field that proves where a form comes from."""
        found = re.search(r'name="csrfmiddlewaretoken" value="([^"]+)"', page.text)
        assert found, page.text[:500]
        return found[1]

    def close(self) -> None:
        """Let go of the connections."""
        self._client.close()


def sign_in(house: House, email: str) -> Hand:
    """A signed-in hand."""
    hand = Hand(house.url)
    answer = hand.post("/accounts/sign-in/", {"email": email, "password": PASSWORD})
    assert answer.url.path == "/", answer.text[:1000]
    return hand


def furnish(appliance: Appliance) -> House:
    """The first administrator by the printed link, the others by invitation."""
    house = House(appliance)
    link = appliance.first_link
    assert link
    with closing(Hand(house.url)) as hand:
        account = {"name": "Ada Yönetici", "email": house.administrator}
        answer = hand.post(link, {**account, "password": PASSWORD, "again": PASSWORD})
        assert answer.url.path == "/", answer.text[:2000]
        for name, email in (("Alice", house.alice), ("Bob", house.bob), ("Mallory", house.mallory)):
            invite(house, hand, name, email)
    return house


def link_on(page: httpx.Response) -> str:
    """The one-time link that the page shows."""
    link = re.search(r"http[^\s\"<]+/welcome/[^\s\"<]+", page.text)
    assert link, page.text[:2000]
    return link[0]


def invite(house: House, administrator: Hand, name: str, email: str) -> str:
    """Add a person and choose their password by the one-time link; the person's page address."""
    shown = administrator.post("/accounts/people/add/", {"name": name, "email": email})
    with closing(Hand(house.url)) as guest:
        entered = guest.post(link_on(shown), {"password": PASSWORD, "again": PASSWORD})
        assert entered.url.path == "/", entered.text[:2000]
    listed = administrator.get("/accounts/people/").text
    page = re.search(r'href="(/accounts/people/[0-9a-f-]+/)"[^<]*>' + re.escape(name) + "<", listed)
    assert page, listed[:3000]
    return page[1]
