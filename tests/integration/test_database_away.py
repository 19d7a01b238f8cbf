"""The database is away: a page says so and gives the text back; then everything goes on."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from uuid import uuid4

import pytest
from django.db import connection, connections
from django.urls import reverse

from chat.models import Message
from tests import factories
from tests.people import PASSWORD, People, browser

pytestmark = pytest.mark.django_db(transaction=True)

TEXT = "A long <text> nobody wants to write again"
AWAY = "Konak cannot save just now"
HTMX = {"HX-Request": "true"}


@contextmanager
def gone() -> Iterator[None]:
    """Nothing listens where the database was, for every thread of this process."""
    settings = connection.settings_dict
    before = settings["HOST"], settings["OPTIONS"]
    connections.close_all()
    connection.close_pool()
    settings["HOST"] = "/nonexistent"
    settings["OPTIONS"] = {**before[1], "pool": {**before[1]["pool"], "timeout": 0.2}}
    try:
        yield
    finally:
        connections.close_all()
        connection.close_pool()
        settings["HOST"], settings["OPTIONS"] = before


def test_a_page_says_so(people: People) -> None:
    conversation = factories.answered(people.alice).conversation
    url = reverse("chat:conversation", args=[conversation.pk])
    client = browser(people.alice, raise_request_exception=False)
    with gone():
        for address in ("/", url):
            response = client.get(address)
            assert response.status_code == 503
            assert AWAY in response.content.decode()
            assert "Traceback" not in response.content.decode()
            assert "no-store" in response.headers["Cache-Control"]
    assert client.get(url).status_code == 200


@pytest.mark.parametrize("headers", [{}, HTMX], ids=["plain", "htmx"])
def test_a_text_that_cannot_be_saved_is_given_back(people: People, headers: dict[str, str]) -> None:
    conversation = factories.answered(people.alice).conversation
    url = reverse("chat:ask", args=[conversation.pk])
    form = {"text": TEXT, "message_id": uuid4()}
    client = browser(people.alice, raise_request_exception=False)
    before = Message.objects.count()
    with gone():
        response = client.post(url, form, headers=headers)
    body = response.content.decode()
    assert response.status_code == 503
    assert AWAY in body
    if headers:
        assert response.headers["HX-Retarget"] == "#problem"
        assert "<html" not in body
    else:
        assert "A long &lt;text&gt; nobody wants to write again</textarea>" in body
    assert Message.objects.count() == before
    assert client.post(url, form, headers=headers).status_code in {200, 302}
    assert Message.objects.count() == before + 2


def test_the_door_says_so(people: People) -> None:
    client = browser(raise_request_exception=False)
    form = {"email": "alice@example.org", "password": PASSWORD}
    with gone():
        for response in (client.get("/accounts/sign-in/"), client.post("/accounts/sign-in/", form)):
            assert response.status_code == 503
            assert AWAY in response.content.decode()
            assert PASSWORD not in response.content.decode()


def test_a_fault_of_our_own_is_said_without_its_story(people: People) -> None:
    """Any other fault: the page names no code, and gives the text back."""
    factories.language_model()
    client = browser(people.alice, raise_request_exception=False)
    with connection.cursor() as cursor:
        cursor.execute("ALTER TABLE chat_generation RENAME TO elsewhere")
    try:
        response = client.post(reverse("chat:start"), {"text": TEXT, "message_id": uuid4()})
        scripted = client.post(
            reverse("chat:start"), {"text": TEXT, "message_id": uuid4()}, headers=HTMX
        )
    finally:
        with connection.cursor() as cursor:
            cursor.execute("ALTER TABLE elsewhere RENAME TO chat_generation")
    body = response.content.decode()
    assert (response.status_code, scripted.status_code) == (500, 500)
    assert "Something went wrong here" in body
    assert "nobody wants to write again</textarea>" in body
    assert "Your text is still here" in scripted.content.decode()
    for word in ("Traceback", "chat_generation", "psycopg"):
        assert word not in body + scripted.content.decode()
    assert not Message.objects.exists()
