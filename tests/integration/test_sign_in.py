"""Coming in: one answer to every wrong try, a new session id, and only ways inside the house."""

from __future__ import annotations

from urllib.parse import urlencode

import pytest
from django.test import Client
from django.urls import reverse

from accounts.models import AuditEntry, Session, User
from tests.people import PASSWORD, People, browser, person

pytestmark = pytest.mark.django_db

SIGN_IN = "/accounts/sign-in/"
WRONG = "The e-mail address or the password is not right, or the account is closed."


@pytest.fixture
def carol(people: People) -> User:
    return person("Carol", password=PASSWORD)


def enter(client: Client, email: str = "carol@example.org", password: str = PASSWORD, **more: str):
    return client.post(SIGN_IN, {"email": email, "password": password, **more})


def test_the_right_words_open_the_door(carol: User) -> None:
    client = browser()
    response = enter(client)
    assert (response.status_code, response.url) == (302, "/")
    assert client.get("/").status_code == 200
    session = Session.objects.get(user=carol)
    entry = AuditEntry.objects.get(verb="session.started")
    assert (entry.actor_id, entry.outcome, entry.address) == (carol.pk, "done", "127.0.0.1")
    assert session.session_key == client.cookies["sessionid"].value


@pytest.mark.parametrize(
    "email", ["CAROL@example.org", "Carol@Example.ORG", "  carol@example.org "]
)
def test_the_address_is_known_in_any_case(carol: User, email: str) -> None:
    assert enter(browser(), email).status_code == 302


@pytest.mark.parametrize(
    ("email", "password"),
    [
        ("carol@example.org", "seven quiet heron"),
        ("carol@example.org", PASSWORD.upper()),
        ("carol@example.org", f" {PASSWORD}"),
        ("nobody@example.org", PASSWORD),
        ("invited@example.org", PASSWORD),
        ("invited@example.org", "!"),
        ("closed@example.org", PASSWORD),
        ("' OR 1=1 --", PASSWORD),
    ],
)
def test_every_wrong_try_gets_the_same_answer(carol: User, email: str, password: str) -> None:
    person("Invited")
    person("Closed", password=PASSWORD, is_active=False)
    client = browser()
    response = enter(client, email, password)
    body = response.content.decode()
    assert response.status_code == 422
    assert body.count(WRONG) == 1
    assert PASSWORD not in body
    assert not Session.objects.exists()
    entry = AuditEntry.objects.get()
    assert (entry.verb, entry.outcome, entry.actor_id) == ("session.failed", "denied", None)
    assert entry.facts == {}


@pytest.mark.parametrize(
    ("email", "password"),
    [("", ""), ("carol@example.org", ""), ("", PASSWORD), ("x" * 300, PASSWORD), ("a\0b", "c")],
)
def test_what_is_no_try_at_all_is_refused_in_words(carol: User, email: str, password: str) -> None:
    response = enter(browser(), email, password)
    assert response.status_code == 422
    assert 'class="error"' in response.content.decode()


def test_addresses_that_only_look_alike_are_two_people(people: People) -> None:
    """In Turkish ``ı`` and ``i`` are two letters, and both are ``I`` to a careless database."""
    person("Ali", password=PASSWORD)
    User(name="Alı", email="ali@kıta.example").save()
    User(name="Ali", email="ali@kita.example").save()
    for user in User.objects.filter(email__startswith="ali@k"):
        user.set_password(PASSWORD)
        user.save()
    for email in ("ali@kıta.example", "ali@kita.example"):
        client = browser()
        assert enter(client, email).status_code == 302
        assert Session.objects.get(pk=client.cookies["sessionid"].value).user.email == email


def test_a_session_gets_a_new_id_when_somebody_signs_in(carol: User) -> None:
    client = browser()
    session = client.session
    session["draft"] = {"for": "nobody", "text": "planted"}
    session.save()
    client.cookies["sessionid"] = planted = session.session_key
    enter(client)
    assert client.cookies["sessionid"].value != planted
    assert not Session.objects.filter(pk=planted).exists()
    assert "planted" not in client.get("/").content.decode()


INSIDE = ["/", "/conversations/x/", "/?q=a&b=c", "/a%20b/", "/accounts/people/"]


@pytest.mark.parametrize("target", INSIDE)
def test_the_way_goes_on_inside_the_house(people: People, target: str) -> None:
    assert ways_on(people, target) == {target}


@pytest.mark.parametrize(
    "target",
    [
        "//evil.example",
        "///evil.example",
        "////evil.example/x",
        "https://evil.example",
        "http:evil.example",
        "HTTPS://evil.example",
        "javascript:alert(1)",
        "data:text/html,x",
        "\\\\evil.example",
        "/\\evil.example",
        "/\t/evil.example",
        "/\n/evil.example",
        "\t//evil.example",
        " //evil.example",
        "\x00//evil.example",
        "evil.example",
        "@evil.example",
        "http://testserver@evil.example",
        "http://testserver/inside",
        "",
    ],
)
def test_no_way_leads_outside(people: People, target: str) -> None:
    assert ways_on(people, target) == {"/"}


def ways_on(people: People, target: str) -> set[str]:
    """Where the door, the door for those who are in, and the choice of language lead."""
    client = browser(people.alice)
    language = {"language": "en", "next": target}
    return {
        browser().get(SIGN_IN, {"next": target}).context["next"],
        client.get(SIGN_IN, {"next": target}).url,
        client.post(reverse("accounts:set_language"), language).url,
    }


def test_signing_in_leads_the_same_ways(carol: User) -> None:
    for target, way in ((INSIDE[1], INSIDE[1]), ("//evil.example", "/"), ("/\\evil.example", "/")):
        assert enter(browser(), next=target).url == way


def test_a_way_on_writes_no_header(carol: User) -> None:
    response = enter(browser(), next="/a\r\nSet-Cookie: a=b")
    assert response.url == "/a%0D%0ASet-Cookie:%20a=b"
    assert "a" not in response.cookies


def test_an_empty_house_tells_how_to_begin(db: None) -> None:
    body = browser().get(SIGN_IN).content.decode()
    assert "Nobody lives here yet." in body
    person("Ada", is_administrator=True)
    assert "Nobody lives here yet." not in browser().get(SIGN_IN).content.decode()


def test_the_way_to_the_door_comes_back_to_the_page(people: People) -> None:
    page = reverse("accounts:people")
    response = browser().get(page, {"a": "b"})
    assert response.url == f"{SIGN_IN}?{urlencode({'next': page + '?a=b'})}"
