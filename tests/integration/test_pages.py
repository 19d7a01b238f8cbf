"""What stands on the chat's pages, in each state of an answer and in both languages."""

from __future__ import annotations

import re
from datetime import timedelta

import pytest
from django.db.models import F
from django.urls import reverse
from django.utils import timezone

from chat.domain import branches, conversations
from chat.domain.messages import Asked
from chat.models import Conversation, Generation
from tests import factories
from tests.people import PASSWORD, People, browser, person
from tests.readers import elements

pytestmark = pytest.mark.django_db

State = Generation.State
HTMX = {"HX-Request": "true"}
ATTACK = "<script>alert(1)</script> [x](javascript:alert(1)) ![p](https://evil.example/p.png)"


def page_of(people: People, asked: Asked, **headers: str) -> str:
    url = reverse("chat:conversation", args=[asked.conversation.pk])
    return browser(people.alice).get(url, headers=headers).content.decode()


def state_on(page: str, asked: Asked) -> str:
    return elements(page)[f"m-{asked.answer.pk}"][0]["data-state"]


ENDS = {
    "done": (State.DONE, {}, None),
    "cut": (State.DONE, {"reason": "length"}, "reached the greatest length"),
    "stopped": (State.STOPPED, {}, "You stopped this answer."),
    "engine away": (
        State.FAILED,
        {"reason": "unreachable"},
        "The engine is not answering; your message is kept.",
    ),
    "engine broke": (
        State.INTERRUPTED,
        {"reason": "broken"},
        "The engine stopped in the middle. What is written is kept.",
    ),
    "nothing written": (State.FAILED, {"reason": "empty"}, "The model wrote nothing this time"),
    "engine full": (State.FAILED, {"reason": "overloaded"}, "Too many people are asking just now"),
    "engine refuses": (State.FAILED, {"reason": "refused"}, "The engine refused this request"),
    "too long": (
        State.FAILED,
        {
            "reason": "context_length_exceeded",
            "facts": {"prompt_tokens": 9000, "context_length": 2048},
        },
        "9000 of 2048 tokens",
    ),
    "our fault": (State.INTERRUPTED, {"reason": "internal"}, "Everything so far is kept."),
}


@pytest.mark.parametrize("case", ENDS)
def test_how_an_answer_ended_is_a_sentence(people: People, case: str) -> None:
    state, how, sentence = ENDS[case]
    text = "" if state == State.FAILED else "Rayleigh **scattering**."
    asked = factories.answered(people.alice, answer=text, state=state, **how)
    page = page_of(people, asked)
    assert state_on(page, asked) == state
    assert "Why is the sky blue?" in page
    assert not text or "Rayleigh <strong>scattering</strong>." in page
    assert sentence is None or sentence in page
    retry = reverse("chat:retry", args=[asked.answer.pk])
    can_go_on = case not in {"done", "too long"}
    assert (f'action="{retry}"' in page) is can_go_on
    assert not can_go_on or (">Continue<" in page.replace("\n", "").replace(" ", "")) is bool(text)


def test_an_answer_that_is_written_shows_all_so_far_and_can_be_stopped(people: People) -> None:
    asked = factories.asked(people.alice)
    assert state_on(page_of(people, asked), asked) == "queued"
    run = factories.claimed()
    factories.write(run, "First.\n\nSecond ", "half")
    page = page_of(people, asked)
    article = elements(page)[f"m-{asked.answer.pk}"]
    assert article[0]["aria-busy"] == "true"
    assert "First." in article[1]
    assert "Second half" in article[1]
    assert reverse("chat:stop", args=[asked.answer.pk]) in page
    assert '<meta http-equiv="refresh"' in page.partition("<noscript>")[2].partition("</no")[0]
    factories.end(run)
    assert "http-equiv" not in page_of(people, asked)


def test_without_a_socket_the_answer_is_asked_for(people: People) -> None:
    asked = factories.asked(people.alice)
    run = factories.claimed()
    factories.write(run, "So far")
    url, client = reverse("chat:answer", args=[asked.answer.pk]), browser(people.alice)
    fragment = client.get(url, headers=HTMX).content.decode()
    assert "<html" not in fragment
    assert state_on(fragment, asked) == "running"
    assert "So far" in fragment
    factories.end(run)
    fragment = client.get(url, headers=HTMX).content.decode()
    assert state_on(fragment, asked) == "done"
    assert 'id="send"' in fragment
    page = reverse("chat:conversation", args=[asked.conversation.pk])
    assert client.get(url).url == f"{page}?at={asked.answer.pk}#m-{asked.answer.pk}"


def test_stop_and_retry_answer_with_the_answer(people: People) -> None:
    asked = factories.asked(people.alice)
    client = browser(people.alice)
    for name, state in (("stop", "stopped"), ("retry", "queued")):
        url = reverse(f"chat:{name}", args=[asked.answer.pk])
        assert state_on(client.post(url, headers=HTMX).content.decode(), asked) == state
    assert client.post(reverse("chat:stop", args=[asked.answer.pk])).status_code == 302


def test_a_sibling_answer_takes_the_place_of_the_old_one(people: People) -> None:
    model = factories.language_model("rigid", continues=False)
    asked = factories.asked(people.alice, model=model)
    run = factories.claimed()
    factories.write(run, "Half")
    factories.end(run, State.INTERRUPTED)
    response = browser(people.alice).post(
        reverse("chat:retry", args=[asked.answer.pk]), headers=HTMX
    )
    sibling = asked.question.children.exclude(pk=asked.answer.pk).get()
    url = reverse("chat:conversation", args=[asked.conversation.pk])
    assert response.headers["HX-Reswap"] == "tail"
    assert response.headers["HX-Replace-Url"] == f"{url}?at={sibling.pk}"
    assert f'id="m-{sibling.pk}"' in response.content.decode()
    assert f'id="m-{asked.answer.pk}"' not in response.content.decode()


def test_what_people_and_models_write_is_text(people: People) -> None:
    asked = factories.answered(people.alice, ATTACK, ATTACK)
    run_page = page_of(people, asked)
    growing = factories.asked(people.alice, ATTACK)
    factories.write(factories.claimed(), ATTACK)
    people.alice.name = "<b>Alice</b>"
    people.alice.save()
    for page in (
        run_page,
        page_of(people, growing),
        browser(people.alice).get("/").content.decode(),
    ):
        assert "<script>alert" not in page
        assert 'src="http' not in page
        assert 'href="javascript' not in page
        assert "<b>Alice" not in page
    assert "hx-disable" in elements(run_page)[f"m-{asked.answer.pk}"][1]


def test_a_conversation_is_read_from_its_first_question_on(people: People) -> None:
    asked = factories.answered(people.alice, "Question 0", "Answer 0")
    for n in range(1, 4):
        factories.answered(
            people.alice, f"Question {n}", f"Answer {n}", conversation=asked.conversation
        )
    page = page_of(people, asked)
    places = [page.index(f"{what} {n}</") for n in range(4) for what in ("Question", "Answer")]
    assert places == sorted(places)


def test_the_list_is_by_date_newest_first(people: People) -> None:
    days = {"Today": 0, "Yesterday": 1, "Last 7 days": 5, "Last 30 days": 20, "Earlier": 90}
    for name, day in reversed(days.items()):
        asked = factories.asked(people.alice, f"Asked {name}")
        at = timezone.now() - timedelta(days=day)
        Conversation.objects.filter(pk=asked.conversation.pk).update(updated_at=at)
    sections = conversations.sections(people.alice)
    assert [section.name for section in sections] == list(days)
    assert [c.title for s in sections for c in s.conversations] == [f"Asked {n}" for n in days]
    page = browser(people.alice).get("/").content.decode()
    assert page.index("Asked Today") < page.index("Asked Earlier")


def test_a_deleted_conversation_is_out_of_sight_and_then_gone_with_all_it_held(
    people: People,
) -> None:
    asked = factories.answered(people.alice)
    client = browser(people.alice)
    url = reverse("chat:delete", args=[asked.conversation.pk])
    assert "Delete this conversation?" in client.get(url).content.decode()
    assert Conversation.objects.exists()
    assert client.post(url).url == "/"
    assert client.get(url).status_code == 404
    assert asked.conversation.title not in client.get("/history/").content.decode()
    Conversation.objects.update(cut_at=F("cut_at") - timedelta(minutes=2))
    branches.erase()
    assert not Conversation.objects.exists()
    assert not Generation.objects.exists()


def test_the_model_is_named_and_can_be_chosen(people: People) -> None:
    client = browser(people.alice)
    assert "The model is being loaded…" in client.get("/").content.decode()
    small = factories.language_model("small-Q4_K_M")
    assert "small" in client.get("/").content.decode()
    assert client.get("/").content.decode().count('href="?model=') == 1
    large = factories.language_model("large")
    assert client.get("/").content.decode().count('href="?model=') == 2
    asked = factories.asked(people.alice, model=large)
    assert client.get("/").context["chosen"] == large
    _, picker = elements(page_of(people, asked))["models"]
    assert re.findall(
        r'aria-current="true">\s*<span class="model-facts">\s*<b[^>]*>(\w+)', picker
    ) == ["large"]
    assert small.display_name == "small"


def test_the_page_speaks_both_languages(people: People) -> None:
    asked = factories.answered(people.alice, state=State.STOPPED)
    assert '<html lang="en"' in page_of(people, asked)
    turkish = page_of(people, asked, **{"Accept-Language": "tr-TR,tr;q=0.9,en;q=0.5"})
    assert '<html lang="tr"' in turkish
    assert "Bu yanıtı durdurdunuz." in turkish
    assert "You stopped" not in turkish


def test_the_chosen_language_stays_with_browser_and_person(people: People) -> None:
    person("Carol", password=PASSWORD)
    client, sign_in = browser(), {"email": "carol@example.org", "password": PASSWORD}
    client.post(reverse("accounts:sign_in"), sign_in)
    url = reverse("accounts:set_language")
    assert client.post(url, {"language": "tr", "next": "/?a=b"}).url == "/?a=b"
    assert '<html lang="tr"' in client.get("/").content.decode()
    client.post(reverse("accounts:sign_out"))
    assert '<html lang="tr"' in client.get("/accounts/sign-in/").content.decode()
    elsewhere = browser()
    elsewhere.post(reverse("accounts:sign_in"), sign_in)
    assert '<html lang="tr"' in elsewhere.get("/").content.decode()


@pytest.mark.parametrize("language", ["", "xx", "../../etc", "de", "tr\r\nSet-Cookie: a=b"])
def test_a_language_we_do_not_speak_changes_nothing(people: People, language: str) -> None:
    client = browser(people.alice)
    url = reverse("accounts:set_language")
    response = client.post(url, {"language": language, "next": "//evil.example"})
    assert (response.status_code, response.url) == (302, "/")
    assert "django_language" not in client.cookies
    assert '<html lang="en"' in client.get("/").content.decode()
