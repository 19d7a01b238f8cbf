"""Pages through the web process's own handler: whole, in turn, and never stuck behind others."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import httpx
import pytest
from django.template import engines
from django.templatetags.static import static
from django.test import override_settings

from chat.models import Generation
from chat.views.warming import warm
from deploy import pages
from tests import factories
from tests.people import People, session_of
from tests.scripts import in_database

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def handler(people: People) -> pages.Pages:
    """The handler, of this test's loop."""
    return pages.Pages()


@pytest.fixture
async def web(handler: pages.Pages) -> AsyncIterator[httpx.AsyncClient]:
    """A browser that asks it."""
    transport = httpx.ASGITransport(handler)
    async with httpx.AsyncClient(transport=transport, base_url="http://testserver") as client:
        yield client


async def signed_in(web: httpx.AsyncClient, people: People) -> dict[str, str]:
    """Alice's cookies and the header that proves where a form comes from."""
    session = await in_database(session_of)(people.alice)
    web.cookies.set("sessionid", session.session_key)
    web.cookies.set("csrftoken", "b" * 32)
    return {"X-CSRFToken": "b" * 32, "HX-Request": "true"}


async def test_a_page_a_refusal_and_a_file(web: httpx.AsyncClient, people: People) -> None:
    refused = await web.get("/")
    assert (refused.status_code, refused.headers["location"]) == (
        302,
        "/accounts/sign-in/?next=%2F",
    )
    await signed_in(web, people)
    page = await web.get("/")
    assert page.status_code == 200
    assert "What would you like to know, Alice?" in page.text
    file = await web.get(static("chat/chat.js"))
    assert (file.status_code, file.headers["content-type"][:15]) == (200, "text/javascript")
    assert "htmx.defineExtension" in file.text
    assert (await web.get("/no/such/page/")).status_code == 404


def test_what_pages_are_made_of_is_there_before_the_first_reader() -> None:
    [partials] = engines["django"].engine.template_loaders
    [cached] = partials.loaders
    cached.reset()
    warm()
    assert {"chat/page.html", "chat/_undo.html", "base.html"} <= set(cached.get_template_cache)


async def test_fifty_posts_at_once_are_fifty_questions(
    web: httpx.AsyncClient, people: People
) -> None:
    await in_database(factories.language_model)()
    headers = await signed_in(web, people)

    async def ask(number: int) -> httpx.Response:
        form = {"text": f"Question {number}", "message_id": f"{number:032x}"}
        return await web.post("/conversations/", data=form, headers=headers)

    replies = await asyncio.gather(*(ask(number) for number in range(50)))
    assert {reply.status_code for reply in replies} == {200}
    assert len({reply.headers["hx-redirect"] for reply in replies}) == 50
    assert await in_database(Generation.objects.count)() == 50


async def test_a_post_without_its_proof_is_refused(web: httpx.AsyncClient, people: People) -> None:
    headers = await signed_in(web, people)
    headers["X-CSRFToken"] = "c" * 32
    form = {"text": "Hello", "message_id": f"{1:032x}"}
    assert (await web.post("/conversations/", data=form, headers=headers)).status_code == 403
    assert not await in_database(Generation.objects.exists)()


async def test_nobody_waits_for_ever_for_a_turn(
    web: httpx.AsyncClient, handler: pages.Pages, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pages, "PATIENCE_S", 0.05)
    async with handler._turns, handler._turns, handler._turns, handler._turns:
        assert handler._turns.locked()
        assert (await web.get("/healthz")).status_code == 200
    assert not handler._turns.locked()


@pytest.mark.parametrize("language", ["en", "tr"])
async def test_a_body_that_nobody_has_a_use_for_is_not_read_to_its_end(
    web: httpx.AsyncClient, language: str
) -> None:
    """Also from who is not signed in: nothing of it fills the disk."""
    taken = 0

    async def endless() -> AsyncIterator[bytes]:
        nonlocal taken
        while True:
            taken += 1_000_000
            yield b"x" * 1_000_000

    headers = {"content-type": "application/octet-stream", "accept-language": language}
    with override_settings(BODY_MAX_BYTES=3_000_000):
        refused = await web.post("/accounts/sign-in/", content=endless(), headers=headers)
    assert refused.status_code == 413
    assert refused.headers["connection"] == "close"
    assert {"en": "too large", "tr": "gönderilemeyecek kadar büyük"}[language] in refused.text
    assert taken <= (pages.HEARD_OUT + 1) * 3_000_000
    assert (await web.get("/healthz")).status_code == 200
