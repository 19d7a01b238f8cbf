"""Who gets a socket, and when it is taken away again."""

from __future__ import annotations

from datetime import timedelta
from uuid import uuid4

import pytest
from django.db import connection
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from accounts.domain import provisioning
from accounts.models import Session, SetupLink, User
from chat import events
from chat.domain.messages import Asked
from chat.live import fanout
from tests import factories
from tests.people import PASSWORD, People, browser, session_of
from tests.readers import Page
from tests.scripts import in_database

pytestmark = pytest.mark.django_db(transaction=True)

SIGNED_OUT = 4401


@pytest.fixture
def asked(people: People) -> Asked:
    return factories.asked(people.alice)


ORIGINS = {
    "exact": ("http://testserver", True),
    "missing": (None, False),
    "empty": ("", False),
    "null": ("null", False),
    "foreign": ("http://evil.example", False),
    "foreign below us": ("http://testserver.evil.example", False),
    "ours below it": ("http://evil.testserver", False),
    "other port": ("http://testserver:8001", False),
    "in the name": ("http://testserver@evil.example", False),
    "with a name": ("http://evil@testserver", False),
    "other scheme": ("ftp://testserver", False),
    "no scheme": ("testserver", False),
    "no URL": ("http://[", False),
    "longer": ("http://testserverx", False),
}


@pytest.mark.parametrize("case", ORIGINS)
async def test_only_our_own_pages_may_knock(people: People, asked: Asked, case: str) -> None:
    origin, opens = ORIGINS[case]
    page = Page(people.alice, asked.conversation, origin=origin)
    assert await page.open() is opens
    await page.leave()


async def test_behind_tls_the_page_has_the_other_scheme(people: People, asked: Asked) -> None:
    page = Page(people.alice, asked.conversation, origin="https://testserver")
    assert await page.open()
    await page.leave()


@pytest.mark.parametrize("who", ["bob", "mallory", "administrator"])
async def test_somebody_elses_conversation_has_no_socket(
    people: People, asked: Asked, who: str
) -> None:
    user = getattr(people, who)
    stranger = Page(user, asked.conversation)
    nothing = Page(user, path=f"/ws/conversations/{uuid4()}/")
    own = Page(user)
    assert [await page.open() for page in (stranger, nothing, own)] == [False, False, True]
    for page in (stranger, nothing, own):
        await page.leave()


@pytest.mark.parametrize("cookie", [None, "sessionid=", "sessionid=0", f"sessionid={'a' * 32}"])
async def test_without_a_session_no_door_opens(asked: Asked, cookie: str | None) -> None:
    for path in (None, "/ws/"):
        page = Page(None, asked.conversation, path=path, cookie=cookie)
        assert not await page.open()
        await page.leave()


@pytest.mark.parametrize("how", ["expired", "deactivated", "deleted"])
async def test_a_session_that_is_over_opens_nothing(people: People, asked: Asked, how: str) -> None:
    def over() -> str:
        key = session_of(people.alice).session_key
        if how == "expired":
            past = timezone.now() - timedelta(seconds=1)
            Session.objects.update(expire_date=past)
        elif how == "deactivated":
            User.objects.filter(pk=people.alice.pk).update(is_active=False)
        else:
            Session.objects.all().delete()
        return f"sessionid={key}"

    page = Page(None, asked.conversation, cookie=await in_database(over)())
    assert not await page.open()
    await page.leave()


@pytest.mark.parametrize("path", ["/", "/ws", "/ws/x/", "/ws/conversations/1/", "/nothing/"])
async def test_there_is_no_other_socket(people: People, path: str) -> None:
    page = Page(people.alice, path=path)
    assert not await page.open()
    await page.leave()


@pytest.fixture
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """The session is never looked at again: what closes the socket is the news."""
    monkeypatch.setattr(fanout, "SESSION_CHECK_S", 3600)


async def closed(page: Page) -> int | None:
    """The code with which the socket is closed, after whatever else comes."""
    while await page.frame() is not None:
        pass
    return page.closed


@pytest.mark.usefixtures("patient")
async def test_deactivation_closes_every_socket_of_the_person_and_no_other(
    people: People, asked: Asked
) -> None:
    pages = [Page(people.alice, asked.conversation), Page(people.alice)]
    bobs = Page(people.bob)
    assert [await page.open() for page in (*pages, bobs)] == [True] * 3
    await in_database(provisioning.deactivate)(people.alice, actor=people.administrator)
    assert [await closed(page) for page in pages] == [SIGNED_OUT] * 2
    assert await bobs.quiet()
    for page in (*pages, bobs):
        await page.leave()


@pytest.mark.usefixtures("patient")
async def test_sign_out_closes_the_sockets_of_that_browser_only(
    people: People, asked: Asked
) -> None:
    client = await in_database(browser)(people.alice)
    here = Page(None, asked.conversation, cookie=f"sessionid={client.cookies['sessionid'].value}")
    elsewhere = Page(people.alice)
    assert [await here.open(), await elsewhere.open()] == [True] * 2
    await in_database(client.post)(reverse("accounts:sign_out"))
    assert await closed(here) == SIGNED_OUT
    assert await elsewhere.quiet()
    for page in (here, elsewhere):
        await page.leave()


@pytest.mark.usefixtures("patient")
async def test_a_new_password_closes_the_sockets_of_the_old_one(people: People) -> None:
    page = Page(people.alice)
    assert await page.open()

    def choose() -> int:
        token = provisioning.make_link(SetupLink.Purpose.PASSWORD, user=people.alice)
        form = {"password": PASSWORD, "again": PASSWORD}
        return Client().post(reverse("accounts:welcome", args=[token]), form).status_code

    assert await in_database(choose)() == 302
    assert await closed(page) == SIGNED_OUT
    await page.leave()


@pytest.mark.parametrize("how", ["deleted", "expired", "deactivated"])
async def test_a_session_that_ends_without_a_word_closes_the_socket(
    people: People, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    assert fanout.SESSION_CHECK_S < 5
    monkeypatch.setattr(fanout, "SESSION_CHECK_S", 0.1)

    def end() -> None:
        with connection.cursor() as cursor:
            cursor.execute(
                {
                    "deleted": "DELETE FROM accounts_session",
                    "expired": "UPDATE accounts_session SET expire_date = now()",
                    "deactivated": "UPDATE accounts_user SET is_active = false",
                }[how]
            )

    page = Page(people.alice)
    assert await page.open()
    assert await page.quiet()
    await in_database(end)()
    assert await closed(page) == SIGNED_OUT
    await page.leave()


async def test_a_closed_socket_says_nothing_more(people: People, asked: Asked) -> None:
    page = Page(people.alice, asked.conversation)
    assert await page.open()
    await in_database(provisioning.deactivate)(people.alice, actor=people.administrator)
    await closed(page)
    run = await in_database(factories.claimed)()
    await in_database(factories.write)(run, "for nobody")
    where = str(asked.conversation.pk), str(asked.answer.pk)
    await events.tell(events.Grew(*where, str(run.pk), 1, "for nobody"))
    assert await page.quiet()
    await page.leave()
