"""The head of every page: who may script it, cache it, frame it and read its cookies."""

from __future__ import annotations

import re

import pytest
from django.test import Client
from django.urls import reverse

from accounts.domain import provisioning
from accounts.models import Group
from tests import factories
from tests.people import PASSWORD, People, browser, person

pytestmark = pytest.mark.django_db


@pytest.fixture
def pages(people: People) -> list[tuple[Client, str, int]]:
    """Every kind of page: a browser, an address and the status it answers with."""
    asked = factories.answered(people.alice)
    token = provisioning.first_administrator_token() or provisioning.make_link(
        "password", user=people.bob, actor=people.administrator
    )
    alice, ada, nobody = browser(people.alice), browser(people.administrator), browser()
    alices = [("chat:conversation", asked.conversation.pk), ("chat:rename", asked.conversation.pk)]
    alices += [("chat:delete", asked.conversation.pk), ("chat:new", None)]
    adas = [("accounts:people", None), ("accounts:groups", None), ("accounts:add_person", None)]
    adas += [("accounts:person", people.bob.pk), ("accounts:group", Group.objects.get().pk)]
    return [
        *((alice, reverse(name, args=[pk] if pk else []), 200) for name, pk in alices),
        *((ada, reverse(name, args=[pk] if pk else []), 200) for name, pk in adas),
        (nobody, reverse("accounts:sign_in"), 200),
        (nobody, reverse("accounts:welcome", args=[token]), 200),
        (nobody, reverse("accounts:welcome", args=["used"]), 404),
        (nobody, "/", 302),
        (alice, "/nothing/", 404),
        (alice, reverse("chat:ask", args=[asked.conversation.pk]), 405),
        (nobody, reverse("healthz"), 200),
    ]


def test_no_page_lets_inline_scripts_or_strangers_in(pages: list[tuple[Client, str, int]]) -> None:
    for client, url, status in pages:
        response = client.get(url)
        assert response.status_code == status, url
        policy = dict(
            part.strip().partition(" ")[::2]
            for part in response.headers["Content-Security-Policy"].split(";")
        )
        assert policy["default-src"] == "'none'", url
        assert policy["frame-ancestors"] == policy["base-uri"] == policy["object-src"] == "'none'"
        assert "unsafe" not in response.headers["Content-Security-Policy"], url
        allowed = {word for words in policy.values() for word in words.split()}
        assert {word for word in allowed if not word.startswith("'nonce-")} <= {"'self'", "'none'"}
        assert response.headers["X-Frame-Options"] == "DENY", url
        assert response.headers["X-Content-Type-Options"] == "nosniff", url
        assert response.headers["Referrer-Policy"] == "same-origin", url


def test_no_page_needs_what_the_policy_forbids(pages: list[tuple[Client, str, int]]) -> None:
    for client, url, _ in pages:
        body = client.get(url).content.decode()
        assert not re.search(r"<script(?![^>]*\bsrc=)", body), url
        assert not re.search(r"<style|\sstyle=|\son\w+=|javascript:", body), url
        assert not re.search(r"""(src|href|action)=["'](https?:)?//""", body), url


def test_no_answer_may_be_kept_by_a_cache(pages: list[tuple[Client, str, int]]) -> None:
    for client, url, _ in pages:
        assert "no-store" in client.get(url).headers["Cache-Control"], url


def test_the_cookies_are_for_this_house_only(people: People) -> None:
    person("Carol", password=PASSWORD)
    client = browser()
    client.get(reverse("accounts:sign_in"))
    form = {"email": "carol@example.org", "password": PASSWORD}
    assert client.post(reverse("accounts:sign_in"), form).status_code == 302
    client.post(reverse("accounts:set_language"), {"language": "tr"})
    assert set(client.cookies) == {"sessionid", "csrftoken", "django_language", "theme"}
    for cookie in client.cookies.values():
        assert cookie["httponly"] is True, cookie.key
        assert cookie["samesite"] == "Lax", cookie.key
