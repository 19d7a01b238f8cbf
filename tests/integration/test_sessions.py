"""How long a session lasts, what ends it, and what becomes of a text that it ended upon."""

from __future__ import annotations

from datetime import timedelta
from urllib.parse import urlencode
from uuid import uuid4

import pytest
from django.conf import settings
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from accounts import tasks
from accounts.domain import provisioning
from accounts.models import AuditEntry, Session, SetupLink, User
from tests import factories
from tests.people import PASSWORD, People, browser, person

pytestmark = pytest.mark.django_db

SIGN_IN = "/accounts/sign-in/"
TEXT = "What I had been writing for an hour"


def door(page: str) -> str:
    """The sign-in page from which it goes back to ``page``."""
    return f"{SIGN_IN}?{urlencode({'next': page})}"


def inside(client: Client) -> bool:
    return client.get("/").status_code == 200


def row(client: Client) -> Session:
    return Session.objects.get(pk=client.cookies["sessionid"].value)


def let_pass(client: Client, seconds: float) -> None:
    """As if nothing had been done for so long: everything stored moves into the past."""
    session = row(client)
    data = session.get_decoded()
    began = timezone.datetime.fromisoformat(data["started_at"]) - timedelta(seconds=seconds)
    session.session_data = client.session.encode({**data, "started_at": began.isoformat()})
    session.expire_date -= timedelta(seconds=seconds)
    session.used_at -= timedelta(seconds=seconds)
    session.save()


@pytest.mark.parametrize(("who", "idle_s"), [("alice", 3600), ("administrator", 1800)])
def test_an_idle_session_ends(people: People, who: str, idle_s: int) -> None:
    client = browser(getattr(people, who))
    let_pass(client, idle_s - 60)
    assert inside(client)
    let_pass(client, idle_s - 60)
    assert inside(client)
    let_pass(client, idle_s + 1)
    assert not inside(client)


@pytest.mark.parametrize(("who", "hours"), [("alice", 24), ("administrator", 12)])
def test_no_session_lives_longer_than_its_day(people: People, who: str, hours: int) -> None:
    client = browser(getattr(people, who))
    idle_s, _ = settings.SESSION_LIMITS_S["person" if who == "alice" else "administrator"]
    steps = hours * 3600 // (idle_s // 2)
    for _ in range(steps - 1):
        let_pass(client, idle_s / 2)
        assert inside(client)
    let_pass(client, idle_s / 2)
    assert not inside(client)


def test_use_is_noted_once_a_minute_at_most(people: People) -> None:
    client = browser(people.alice)
    before = row(client).expire_date
    inside(client)
    assert row(client).expire_date == before
    let_pass(client, 61)
    inside(client)
    assert row(client).expire_date > before - timedelta(seconds=1)


def test_sign_out_deletes_the_session_and_leaves_others(people: People) -> None:
    here, elsewhere = browser(people.alice), browser(people.alice)
    key = here.cookies["sessionid"].value
    response = here.post(reverse("accounts:sign_out"))
    assert (response.status_code, response.url) == (302, SIGN_IN)
    assert not Session.objects.filter(pk=key).exists()
    assert inside(elsewhere)
    here.cookies["sessionid"] = key
    assert not inside(here)
    entry = AuditEntry.objects.get(verb="session.ended")
    assert entry.actor_id == people.alice.pk


def test_sign_out_takes_a_post(people: People) -> None:
    client = browser(people.alice)
    assert client.get(reverse("accounts:sign_out")).status_code == 405
    assert inside(client)


def test_deactivation_ends_every_session_at_once(people: People) -> None:
    clients = [browser(people.alice) for _ in range(3)]
    bobs = browser(people.bob)
    provisioning.deactivate(people.alice, actor=people.administrator)
    assert not any(inside(client) for client in clients)
    assert not Session.objects.filter(user=people.alice).exists()
    assert inside(bobs)


def test_an_inactive_person_with_a_session_left_over_is_nobody(people: People) -> None:
    client = browser(people.alice)
    User.objects.filter(pk=people.alice.pk).update(is_active=False)
    assert not inside(client)


def test_a_new_password_ends_every_session_but_the_one_it_begins(people: People) -> None:
    old = browser(people.alice)
    token = provisioning.make_link(SetupLink.Purpose.PASSWORD, user=people.alice)
    form = {"password": PASSWORD, "again": PASSWORD}
    assert old.post(reverse("accounts:welcome", args=[token]), form).status_code == 302
    assert inside(old)
    assert Session.objects.filter(user=people.alice).count() == 1


@pytest.fixture
def carol_wrote(people: People) -> tuple[Client, str]:
    """Carol's browser after her text met an expired session, and the page she was on."""
    carol = person("Carol", password=PASSWORD)
    person("Dave", password=PASSWORD)
    page = reverse("chat:conversation", args=[factories.answered(carol).conversation.pk])
    client = browser(carol)
    let_pass(client, 3601)
    response = client.post(
        f"{page}messages/",
        {"text": TEXT, "message_id": uuid4()},
        headers={"Referer": f"http://testserver{page}"},
    )
    assert response.status_code == 302
    assert response.url == door(page)
    return client, page


def test_the_text_waits_behind_the_door(carol_wrote: tuple[Client, str]) -> None:
    client, page = carol_wrote
    door = client.get(SIGN_IN, {"next": page}).content.decode()
    assert "The text is kept; sign in to go on." in door
    assert TEXT not in door
    form = {"email": "carol@example.org", "password": PASSWORD, "next": page}
    assert client.post(SIGN_IN, form).url == page
    assert f"{TEXT}</textarea>" in client.get(page).content.decode()
    assert TEXT not in client.get(page).content.decode()


def test_somebody_else_at_the_same_browser_does_not_see_it(
    carol_wrote: tuple[Client, str],
) -> None:
    client, page = carol_wrote
    form = {"email": "dave@example.org", "password": PASSWORD, "next": "/"}
    assert client.post(SIGN_IN, form).status_code == 302
    assert TEXT not in client.get("/").content.decode()
    assert client.get(page).status_code == 404
    assert not any(TEXT in str(s.get_decoded()) for s in Session.objects.all())


def test_a_wrong_try_does_not_lose_it(carol_wrote: tuple[Client, str]) -> None:
    client, page = carol_wrote
    form = {"email": "carol@example.org", "password": "wrong", "next": page}
    assert client.post(SIGN_IN, form).status_code == 422
    form["password"] = PASSWORD
    client.post(SIGN_IN, form)
    assert f"{TEXT}</textarea>" in client.get(page).content.decode()


def test_a_text_from_nobody_we_know_is_not_kept(people: People) -> None:
    for cookie in ("", "x" * 32):
        client = browser()
        if cookie:
            client.cookies["sessionid"] = cookie
        client.post(reverse("chat:start"), {"text": TEXT, "message_id": uuid4()})
        assert not Session.objects.exists()


def test_with_scripts_the_browser_keeps_it(people: People) -> None:
    client = browser(people.alice)
    let_pass(client, 3601)
    form = {"text": TEXT, "message_id": uuid4()}
    headers = {"HX-Request": "true", "HX-Current-URL": "http://testserver/conversations/7/"}
    response = client.post(reverse("chat:start"), form, headers=headers)
    assert response.status_code == 204
    assert response.headers["HX-Redirect"] == door("/conversations/7/")


@pytest.mark.parametrize("referer", ["http://evil.example/a/", "//evil.example/a/", ""])
def test_a_strange_page_before_leads_home(people: People, referer: str) -> None:
    for name in ("Referer", "HX-Current-URL"):
        headers = {name: referer, "HX-Request": "true"}
        response = browser().post(reverse("chat:start"), {"text": "x"}, headers=headers)
        assert response.headers["HX-Redirect"] == door("/")


def test_what_is_over_is_forgotten_a_day_later(people: People) -> None:
    live, ended, long_ago = (browser(people.alice) for _ in range(3))
    let_pass(ended, 3601)
    let_pass(long_ago, 3600 + 25 * 3600)
    day = timedelta(days=1, seconds=1)
    provisioning.make_link(SetupLink.Purpose.PASSWORD, user=people.alice)
    provisioning.make_link(SetupLink.Purpose.PASSWORD, user=people.bob)
    SetupLink.objects.filter(user=people.bob).update(expires_at=timezone.now() - day)
    tasks.clear_expired()
    kept = {client.cookies["sessionid"].value for client in (live, ended)}
    assert set(Session.objects.values_list("pk", flat=True)) == kept
    assert SetupLink.objects.get().user == people.alice
