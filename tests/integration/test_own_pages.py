"""A person's own pages: what they change, where they are signed in, and the wish to go."""

from __future__ import annotations

import pytest
from django.test import Client

from accounts.browsers import describe
from accounts.models import Session, User
from tests.people import PASSWORD, People, browser, person

pytestmark = pytest.mark.django_db

PROFILE = "/accounts/me/"
PASSWORD_PAGE = "/accounts/me/password/"
SESSIONS = "/accounts/me/sessions/"
NEW = "nine slow otters"
FIREFOX = "Mozilla/5.0 (X11; Linux x86_64; rv:145.0) Gecko/20100101 Firefox/145.0"
EDGE = (
    "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko)"
    " Chrome/142.0.0.0 Safari/537.36 Edg/142.0.0.0"
)
IPHONE = (
    "Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) AppleWebKit/605.1.15"
    " (KHTML, like Gecko) Version/18.0 Mobile/15E148 Safari/604.1"
)


@pytest.fixture
def carol(people: People) -> User:
    return person("Carol", password=PASSWORD)


def enter(agent: str = FIREFOX) -> Client:
    client = Client(headers={"user-agent": agent})
    form = {"email": "carol@example.org", "password": PASSWORD}
    assert client.post("/accounts/sign-in/", form).status_code == 302
    return client


def inside(client: Client) -> bool:
    return client.get("/").status_code == 200


def test_the_profile_says_what_is_known_and_keeps_what_is_chosen(carol: User) -> None:
    client = enter()
    page = client.get(PROFILE).content.decode()
    assert "carol@example.org" in page
    assert "data-theme" not in page
    form = {"name": " Carol Öz ", "language": "tr", "theme": "dark"}
    shown = client.post(PROFILE, form, follow=True).content.decode()
    carol.refresh_from_db()
    assert (carol.name, carol.language, carol.theme) == ("Carol Öz", "tr", "dark")
    assert 'data-theme="dark"' in shown
    assert 'lang="tr"' in shown
    assert "Kaydedildi" in shown


def test_the_choice_goes_with_the_person_to_another_browser(carol: User) -> None:
    client = enter()
    client.post(PROFILE, {"name": "Carol", "language": "tr", "theme": "light"})
    elsewhere = enter(EDGE).get(PROFILE).content.decode()
    assert 'data-theme="light"' in elsewhere
    assert 'lang="tr"' in elsewhere
    client.post(PROFILE, {"name": "Carol", "language": "tr", "theme": ""})
    assert "data-theme" not in client.get(PROFILE).content.decode()


@pytest.mark.parametrize(
    ("field", "value"),
    [("name", ""), ("name", "x" * 121), ("name", "a\x00b"), ("language", "xx"), ("theme", "pink")],
)
def test_what_cannot_be_is_said_beside_the_field(carol: User, field: str, value: str) -> None:
    form = {"name": "Carol", "language": "en", "theme": "", field: value}
    response = enter().post(PROFILE, form)
    assert response.status_code == 422
    assert f'id="id_{field}_error"' in response.content.decode()
    carol.refresh_from_db()
    assert (carol.name, carol.theme) == ("Carol", "")


def test_another_password_signs_out_every_other_browser(carol: User) -> None:
    here, elsewhere = enter(), enter(EDGE)
    form = {"current": PASSWORD, "password": NEW, "again": NEW}
    assert here.post(PASSWORD_PAGE, form).status_code == 302
    assert inside(here)
    assert not inside(elsewhere)
    carol.refresh_from_db()
    assert carol.check_password(NEW)


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"current": "seven quiet heron"}, "current"),
        ({"again": "nine slow otter"}, "again"),
        ({"password": "short", "again": "short"}, "password"),
    ],
)
def test_a_password_is_not_changed_by_mistake(
    carol: User, change: dict[str, str], field: str
) -> None:
    here, elsewhere = enter(), enter(EDGE)
    form = {"current": PASSWORD, "password": NEW, "again": NEW, **change}
    response = here.post(PASSWORD_PAGE, form)
    assert response.status_code == 422
    page = response.content.decode()
    assert f'id="id_{field}_error"' in page
    assert NEW not in page
    assert PASSWORD not in page
    assert inside(elsewhere)
    carol.refresh_from_db()
    assert carol.check_password(PASSWORD)


def test_the_list_names_each_browser_and_gives_no_key_away(carol: User) -> None:
    here, _ = enter(), enter(EDGE)
    page = here.get(SESSIONS).content.decode()
    assert page.index("Firefox on Linux") < page.index("Edge on Windows")
    assert page.count("This browser") == 1
    assert "127.0.0.1" in page
    for key in Session.objects.values_list("session_key", flat=True):
        assert key not in page


def test_one_browser_can_be_signed_out(carol: User) -> None:
    here, phone, other = enter(), enter(IPHONE), enter(EDGE)
    listed = dict((b, each) for each, b in here.get(SESSIONS).context["sessions"])
    reference = listed["Safari on iPhone"].reference
    assert here.post(SESSIONS, {"session": reference}).status_code == 302
    assert [inside(client) for client in (here, phone, other)] == [True, False, True]


def test_all_others_can_be_signed_out(carol: User) -> None:
    here, phone, other = enter(), enter(IPHONE), enter(EDGE)
    here.post(SESSIONS)
    assert [inside(client) for client in (here, phone, other)] == [True, False, False]


def test_nobody_ends_the_session_of_somebody_else(people: People, carol: User) -> None:
    here = enter()
    reference = here.get(SESSIONS).context["sessions"][0][0].reference
    shown = browser(people.mallory).post(SESSIONS, {"session": reference}, follow=True)
    assert "signed out already" in shown.content.decode()
    assert inside(here)


def test_a_wish_to_be_deleted_is_seen_by_administrators_and_can_be_taken_back(
    people: People, carol: User
) -> None:
    client, office = enter(), browser(people.administrator)
    assert "Wants to be deleted" not in office.get("/accounts/people/").content.decode()
    client.post("/accounts/me/deletion/")
    assert "Wants to be deleted" in office.get("/accounts/people/").content.decode()
    assert "asked on" in office.get(f"/accounts/people/{carol.pk}/").content.decode()
    assert "You asked for it" in client.get("/accounts/me/data/").content.decode()
    client.post("/accounts/me/deletion/withdraw/")
    assert "Wants to be deleted" not in office.get("/accounts/people/").content.decode()
    assert inside(client)


@pytest.mark.parametrize(
    ("agent", "words"),
    [
        (FIREFOX, "Firefox on Linux"),
        (EDGE, "Edge on Windows"),
        (IPHONE, "Safari on iPhone"),
        ("curl/8.5", "A browser that does not say what it is"),
        ("", "A browser that does not say what it is"),
        ("Firefox/1", "Firefox"),
    ],
)
def test_a_browser_is_named_as_people_know_it(agent: str, words: str) -> None:
    assert describe(agent) == words
