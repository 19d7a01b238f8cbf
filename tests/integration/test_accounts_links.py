"""One-time links: the first administrator, and everybody's password."""

from __future__ import annotations

import threading
from datetime import timedelta
from io import StringIO

import pytest
from django.core.management import call_command
from django.db import connections
from django.urls import reverse
from django.utils import timezone

from accounts.domain import provisioning
from accounts.models import SetupLink, User
from tests.people import PASSWORD, People, browser, person

pytestmark = pytest.mark.django_db

FIRST = {"name": "Ada", "email": "Ada@Example.org", "password": PASSWORD, "again": PASSWORD}
CHOICE = {"password": PASSWORD, "again": PASSWORD}
NO_LONGER = "This link no longer works"


def address(token: str | None) -> str:
    return reverse("accounts:welcome", args=[token])


def link_of(user: User) -> str:
    return address(provisioning.make_link(SetupLink.Purpose.PASSWORD, user=user))


def refused(url: str, form: dict[str, str] = CHOICE) -> bool:
    """Whether the page says, on opening and on sending, that the link is of no use."""
    answers = browser().get(url), browser().post(url, form)
    told = [NO_LONGER in answer.content.decode() for answer in answers]
    assert told == [answer.status_code == 404 for answer in answers]
    return told == [True, True]


def test_an_empty_house_is_opened_once(db: None) -> None:
    url = address(provisioning.first_administrator_token())
    client = browser()
    assert "Welcome to your Konak" in client.get(url).content.decode()
    assert client.post(url, FIRST).status_code == 302
    ada = User.objects.get()
    assert (ada.name, ada.email, ada.is_administrator) == ("Ada", "ada@example.org", True)
    assert ada.check_password(PASSWORD)
    assert client.get(reverse("accounts:people")).status_code == 200
    assert provisioning.first_administrator_token() is None
    assert refused(url, {**FIRST, "email": "eve@example.org"})
    assert User.objects.count() == 1


def test_each_start_makes_a_new_link_and_the_old_one_ends(db: None) -> None:
    old, new = (address(provisioning.first_administrator_token()) for _ in range(2))
    assert refused(old, FIRST)
    assert browser().get(new).status_code == 200


def test_the_link_ends_when_the_house_has_an_administrator(db: None) -> None:
    url = address(provisioning.first_administrator_token())
    person("Ada", is_administrator=True)
    assert refused(url, FIRST)


def test_the_start_prints_the_link_only_to_an_empty_house(db: None) -> None:
    out = StringIO()
    call_command("prepare", stdout=out)
    said = out.getvalue().strip().splitlines()[-1]
    assert said.startswith("first-administrator: /accounts/welcome/")
    assert browser().get(said.partition(" ")[2]).status_code == 200
    person("Ada", is_administrator=True)
    out = StringIO()
    call_command("prepare", stdout=out)
    assert "administrator" not in out.getvalue()


@pytest.mark.django_db(transaction=True)
def test_two_who_open_the_house_at_once_are_one_administrator(db: None) -> None:
    url = address(provisioning.first_administrator_token())
    gate, statuses = threading.Barrier(3), []

    def come(n: int) -> None:
        gate.wait()
        try:
            form = {**FIRST, "email": f"ada{n}@example.org"}
            statuses.append(browser().post(url, form).status_code)
        finally:
            connections.close_all()

    threads = [threading.Thread(target=come, args=[n]) for n in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(statuses) == [302, 404, 404]
    assert User.objects.count() == 1


def test_a_link_sets_the_password_once(people: People) -> None:
    url = link_of(people.alice)
    client = browser()
    assert "Welcome, Alice" in client.get(url).content.decode()
    assert client.post(url, CHOICE).status_code == 302
    assert client.get("/").context["user"] == people.alice
    people.alice.refresh_from_db()
    assert people.alice.check_password(PASSWORD)
    assert refused(url)


def test_a_newer_link_replaces_the_older_one_of_the_same_person(people: People) -> None:
    old, bobs, new = link_of(people.alice), link_of(people.bob), link_of(people.alice)
    assert refused(old)
    for url in (bobs, new):
        assert browser().get(url).status_code == 200


def test_an_expired_link_does_not_work(people: People) -> None:
    url = link_of(people.alice)
    SetupLink.objects.update(expires_at=timezone.now() - timedelta(seconds=1))
    assert refused(url)
    people.alice.refresh_from_db()
    assert not people.alice.has_usable_password()


def test_a_deactivated_person_has_no_use_for_a_link(people: People) -> None:
    url = link_of(people.alice)
    provisioning.deactivate(people.alice, actor=people.administrator)
    assert refused(url)


@pytest.mark.parametrize("token", ["x", "0" * 43, "é", "a" * 4000, "%00", "..%2f"])
def test_a_link_that_never_was(people: People, token: str) -> None:
    assert browser().get(f"/accounts/welcome/{token}/").status_code == 404


def test_only_the_hash_of_a_token_is_stored(people: People) -> None:
    token = provisioning.make_link(SetupLink.Purpose.PASSWORD, user=people.alice)
    row = SetupLink.objects.get()
    assert token not in str(SetupLink.objects.values().get())
    assert browser().get(address(row.token_hash)).status_code == 404


BAD = {
    "short": ("seven4two", "seven4two"),
    "common": ("password123", "password123"),
    "numbers only": ("8374629105", "8374629105"),
    "the own address": ("alice@example.com", "alice@example.com"),
    "different": (PASSWORD, PASSWORD + "!"),
    "missing": ("", ""),
    "once": (PASSWORD, ""),
    "NUL": ("seven quiet\0herons", "seven quiet\0herons"),
    "endless": ("x" * 2000, "x" * 2000),
}


@pytest.mark.parametrize("case", BAD)
def test_a_bad_password_is_refused_in_words_and_uses_nothing_up(people: People, case: str) -> None:
    url = link_of(people.alice)
    password, again = BAD[case]
    response = browser().post(url, {"password": password, "again": again})
    assert response.status_code == 422
    assert 'class="error"' in response.content.decode()
    assert not password or password not in response.content.decode()
    people.alice.refresh_from_db()
    assert not people.alice.has_usable_password()
    assert browser().post(url, CHOICE).status_code == 302


@pytest.mark.parametrize(
    "password", ["çok gizli şey", " seven quiet herons ", "🌊🌊🌊🌊🌊🌊🌊🌊🌊🌊"]
)
def test_a_good_password_is_kept_to_the_letter(people: People, password: str) -> None:
    form = {"password": password, "again": password}
    assert browser().post(link_of(people.alice), form).status_code == 302
    sign_in = {"email": people.alice.email, "password": password}
    assert browser().post(reverse("accounts:sign_in"), sign_in).status_code == 302


@pytest.mark.parametrize("email", ["", "ada", "ada@", "@example.org", "a b@example.org"])
def test_the_first_administrator_needs_an_address(db: None, email: str) -> None:
    url = address(provisioning.first_administrator_token())
    response = browser().post(url, {**FIRST, "email": email})
    assert response.status_code == 422
    assert not User.objects.exists()
