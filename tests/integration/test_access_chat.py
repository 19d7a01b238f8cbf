"""Every address of the chat as its owner, her colleague, a stranger, an administrator, nobody."""

from __future__ import annotations

from uuid import uuid4

import pytest
from django.test import Client
from django.urls import reverse

from accounts.models import AuditEntry, User
from chat.domain.messages import Asked
from chat.models import Conversation, Generation, Message
from tests import factories
from tests.people import People, browser

pytestmark = pytest.mark.django_db

HTMX = {"HX-Request": "true"}
OF_A_CONVERSATION = {"conversation": "GET", "ask": "POST", "rename": "BOTH", "delete": "BOTH"}
OF_AN_ANSWER = {
    "answer": "GET",
    "stop": "POST",
    "retry": "POST",
    "regenerate": "BOTH",
    "fork": "POST",
}
OF_A_QUESTION = {"edit": "BOTH", "delete_branch": "BOTH"}
OWNED = [
    (name, method)
    for name, methods in (OF_A_CONVERSATION | OF_AN_ANSWER | OF_A_QUESTION).items()
    for method in (("GET", "POST") if methods == "BOTH" else (methods,))
]
STRANGERS = ("bob", "mallory", "administrator")
SECRET = "the diagnosis of patient 7"


@pytest.fixture
def hers(people: People) -> Asked:
    """Alice's conversation; its answer was stopped, so that every verb would do something."""
    return factories.answered(people.alice, SECRET, "Half of it", state=Generation.State.STOPPED)


def address(name: str, asked: Asked) -> str:
    about = asked.question if name in OF_A_QUESTION else asked.answer
    pk = asked.conversation.pk if name in OF_A_CONVERSATION else about.pk
    return reverse(f"chat:{name}", args=[pk])


def send(client: Client, method: str, url: str, **options: object):
    if method == "GET":
        return client.get(url, **options)
    form = {"text": "Hello", "title": "Taken over", "message_id": uuid4()}
    return client.post(url, form, **options)


def state() -> tuple[object, ...]:
    return (
        set(Conversation.objects.values_list("pk", "title")),
        set(Message.objects.values_list("pk", "text")),
        set(Generation.objects.values_list("pk", "state", "stop_requested")),
        AuditEntry.objects.count(),
    )


@pytest.mark.parametrize(("name", "method"), OWNED)
def test_the_owner_gets_in(people: People, hers: Asked, name: str, method: str) -> None:
    response = send(browser(people.alice), method, address(name, hers))
    assert response.status_code in {200, 302}


@pytest.mark.parametrize("who", STRANGERS)
@pytest.mark.parametrize(("name", "method"), OWNED)
def test_to_everybody_else_it_is_not_there(
    people: People, hers: Asked, who: str, name: str, method: str
) -> None:
    client = browser(getattr(people, who))
    before = state()
    for headers in ({}, HTMX):
        refused = send(client, method, address(name, hers), headers=headers)
        missing = send(client, method, reverse(f"chat:{name}", args=[uuid4()]), headers=headers)
        assert (refused.status_code, missing.status_code) == (404, 404)
        assert without_address(refused) == without_address(missing)
        assert SECRET not in refused.content.decode()
    assert state() == before


def without_address(response) -> str:
    """The body without what every page says of its own address, and without fresh tokens."""
    request = response.wsgi_request
    body = response.content.decode().replace(request.path, "PATH")
    return body.replace(request.META.get("CSRF_COOKIE", "-"), "TOKEN").partition("csrf")[0]


@pytest.mark.parametrize("who", ["anonymous", "deactivated", "wrong cookie"])
@pytest.mark.parametrize(("name", "method"), OWNED)
def test_without_a_session_the_way_leads_to_the_door(
    people: People, hers: Asked, who: str, name: str, method: str
) -> None:
    client = browser(people.alice if who == "deactivated" else None)
    if who == "deactivated":
        User.objects.filter(pk=people.alice.pk).update(is_active=False)
    if who == "wrong cookie":
        client.cookies["sessionid"] = "0" * 32
    before = state()
    response = send(client, method, address(name, hers))
    assert response.status_code == 302
    assert response.url.startswith(reverse("accounts:sign_in") + "?next=")
    scripted = send(client, method, address(name, hers), headers=HTMX)
    assert scripted.status_code == 204
    assert scripted.headers["HX-Redirect"].startswith(reverse("accounts:sign_in"))
    assert state() == before


@pytest.mark.parametrize("method", ["GET", "POST"])
@pytest.mark.parametrize(
    "bad", ["1", "0", "null", "%00", "..", "6ba7b810-9dad-11d1-80b4-00c04fd430c", "é", "a" * 3000]
)
def test_malformed_ids_are_not_there(people: People, bad: str, method: str) -> None:
    client = browser(people.alice)
    for url in (
        f"/conversations/{bad}/",
        f"/conversations/{bad}/messages/",
        f"/answers/{bad}/",
        f"/answers/{bad}/stop/",
    ):
        response = send(client, method, url)
        assert response.status_code == 404
        assert "There is nothing here" in response.content.decode()


def test_a_question_is_no_answer_and_an_answer_no_question(people: People, hers: Asked) -> None:
    client = browser(people.alice)
    for name, method in OF_AN_ANSWER.items():
        url = reverse(f"chat:{name}", args=[hers.question.pk])
        assert send(client, method, url).status_code == 404
    assert send(client, "POST", reverse("chat:edit", args=[hers.answer.pk])).status_code == 404


@pytest.mark.parametrize("name", ["at", "before", "after"])
def test_an_address_shows_no_message_of_another_conversation(
    people: People, hers: Asked, name: str
) -> None:
    bobs = factories.answered(people.bob, "Bob's question")
    url = f"{address('conversation', bobs)}?{name}={hers.answer.pk}"
    page = browser(people.bob).get(url)
    assert page.status_code == 200
    assert SECRET not in page.content.decode() and "Half of it" not in page.content.decode()
    assert browser(people.bob).get(url, headers=HTMX).status_code == 404


@pytest.mark.parametrize("mine", [False, True], ids=["foreign", "own"])
def test_no_question_hangs_under_a_message_of_another_conversation(
    people: People, hers: Asked, mine: bool
) -> None:
    person = people.alice if mine else people.bob
    other = factories.answered(person, "Another conversation")
    before = state()
    form = {"text": "Under what?", "message_id": uuid4(), "parent": hers.answer.pk}
    response = browser(person).post(address("ask", other), form)
    assert response.status_code == 409
    assert "Under what?</textarea>" in response.content.decode()
    assert "Half of it" not in response.content.decode()
    assert state() == before


@pytest.mark.parametrize("name", ["regenerate", "fork", "retry", "edit"])
def test_an_id_that_is_somebody_elses_is_as_good_as_missing(
    people: People, hers: Asked, name: str
) -> None:
    bobs = factories.answered(people.bob, "Bob's", "Half", state=Generation.State.STOPPED)
    before = state()
    for taken in (hers.answer.pk, hers.question.pk, hers.conversation.pk):
        if (name == "fork") is not (taken == hers.conversation.pk):
            continue
        form = {"text": "Mine", "message_id": taken}
        assert browser(people.bob).post(address(name, bobs), form).status_code == 404
    assert state() == before


WRONG = [
    ("new", "post"),
    ("start", "get"),
    ("conversation", "post"),
    ("ask", "get"),
    ("answer", "post"),
    ("stop", "get"),
    ("retry", "get"),
    *(
        (name, method)
        for name in ("rename", "delete", "ask", "stop")
        for method in ("put", "delete")
    ),
]


@pytest.mark.parametrize(("name", "method"), WRONG)
def test_a_wrong_method_does_nothing(people: People, hers: Asked, name: str, method: str) -> None:
    url = reverse(f"chat:{name}") if name in {"new", "start"} else address(name, hers)
    before = state()
    assert getattr(browser(people.alice), method)(url).status_code == 405
    assert getattr(browser(people.mallory), method)(url).status_code in {404, 405}
    assert state() == before


@pytest.mark.parametrize("headers", [{}, HTMX], ids=["plain", "htmx"])
@pytest.mark.parametrize("name", ["start", "ask", "rename", "delete", "stop", "retry", "edit"])
def test_without_the_token_nothing_happens_and_the_text_comes_back(
    people: People, hers: Asked, name: str, headers: dict[str, str]
) -> None:
    client = browser(people.alice, enforce_csrf_checks=True)
    url = reverse("chat:start") if name == "start" else address(name, hers)
    before = state()
    response = client.post(url, {"text": "Keep <me>", "message_id": uuid4()}, headers=headers)
    body = response.content.decode()
    assert response.status_code == 403
    assert "This page is out of date" in body
    assert headers or "Keep &lt;me&gt;</textarea>" in body
    assert state() == before


def test_the_token_of_the_page_is_taken(people: People) -> None:
    factories.language_model()
    client = browser(people.alice, enforce_csrf_checks=True)
    page = client.get("/").content.decode()
    token = page.partition('name="csrfmiddlewaretoken" value="')[2].partition('"')[0]
    form = {"text": "Hello", "message_id": uuid4(), "csrfmiddlewaretoken": token}
    assert client.post(reverse("chat:start"), form).status_code == 302
    scripted = {"text": "Hello", "message_id": uuid4()}
    headers = {**HTMX, "X-CSRFToken": token}
    assert client.post(reverse("chat:start"), scripted, headers=headers).status_code == 200


def test_each_sees_only_their_own_in_the_list(people: People, hers: Asked) -> None:
    factories.answered(people.bob, "Bob's question")
    assert SECRET in browser(people.alice).get("/").content.decode()
    assert "Bob&#x27;s question" not in browser(people.alice).get("/").content.decode()
    for who in STRANGERS:
        assert SECRET not in browser(getattr(people, who)).get("/").content.decode()
