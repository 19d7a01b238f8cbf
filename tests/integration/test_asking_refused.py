"""Asking what cannot be taken: each refusal is a sentence, and the text is given back."""

from __future__ import annotations

from urllib.parse import quote_from_bytes
from uuid import uuid4

import pytest
from django.conf import settings
from django.test import Client
from django.urls import reverse

from chat.models import Conversation, LanguageModel, Message
from tests import factories
from tests.people import People, browser

pytestmark = pytest.mark.django_db

HTMX = {"HX-Request": "true"}
START = "/conversations/"


@pytest.fixture
def alice(people: People) -> Client:
    factories.language_model()
    return browser(people.alice)


@pytest.fixture(params=["new", "existing"])
def url(request: pytest.FixtureRequest, people: People, alice: Client) -> str:
    if request.param == "new":
        return START
    return reverse("chat:ask", args=[factories.answered(people.alice).conversation.pk])


EMPTY = "There is nothing to send yet. Write something first."
REFUSED = {
    "nothing": ("", EMPTY),
    "white space": (" \n\t \r\n ", EMPTY),
    "one too many": ("x" * (settings.MESSAGE_MAX_CHARS + 1), "The message is 1 character too long"),
    "far too many": ("x" * (settings.MESSAGE_MAX_CHARS + 1234), "The message is 1,234 characters"),
    "a NUL": ("before\x00after", "Null characters are not allowed."),
}


@pytest.mark.parametrize("case", REFUSED)
def test_a_refused_text_comes_back_with_a_sentence(alice: Client, url: str, case: str) -> None:
    text, sentence = REFUSED[case]
    before = Message.objects.count()
    response = alice.post(url, {"text": text, "message_id": uuid4()})
    body = response.content.decode()
    assert response.status_code == 422
    assert sentence in body
    kept = body.partition("<textarea")[2].partition(">")[2].partition("</textarea>")[0]
    assert kept == text.replace("\r\n", "\n") or kept == text
    assert Message.objects.count() == before


@pytest.mark.parametrize("case", REFUSED)
def test_with_scripts_only_the_sentence_comes(alice: Client, url: str, case: str) -> None:
    text, sentence = REFUSED[case]
    response = alice.post(url, {"text": text, "message_id": uuid4()}, headers=HTMX)
    body = response.content.decode()
    assert response.status_code == 422
    assert sentence in body
    assert "<textarea" not in body
    assert response.headers["HX-Retarget"] == "#problem"
    assert response.headers["HX-Reswap"] == "innerHTML"


@pytest.mark.parametrize("message_id", ["", "1", "not-a-uuid", "0" * 31 + "g", None])
def test_a_page_without_a_usable_id_is_out_of_date(
    alice: Client, url: str, message_id: str | None
) -> None:
    form = {"text": "Keep me"} | ({} if message_id is None else {"message_id": message_id})
    response = alice.post(url, form)
    body = response.content.decode()
    assert response.status_code == 422
    assert "This page is out of date. Reload it; your text is kept." in body
    assert "Keep me</textarea>" in body


def test_the_longest_text_is_taken(alice: Client, url: str) -> None:
    text = "ğ" * settings.MESSAGE_MAX_CHARS
    response = alice.post(url, {"text": text, "message_id": uuid4()})
    assert response.status_code == 302
    assert Message.objects.filter(text=text).exists()


def test_half_a_character_is_replaced_and_the_rest_is_taken(alice: Client, url: str) -> None:
    message_id = uuid4()
    body = f"message_id={message_id}&text=a{quote_from_bytes(b'%ED%A0%80', safe='%')}b"
    response = alice.post(url, body, content_type="application/x-www-form-urlencoded")
    assert response.status_code == 302
    text = Message.objects.get(pk=message_id).text
    assert (text[0], text[-1]) == ("a", "b")
    assert set(text[1:-1]) == {"\N{REPLACEMENT CHARACTER}"}


@pytest.mark.parametrize("headers", [{}, HTMX], ids=["plain", "htmx"])
def test_ten_megabytes_are_refused_in_words(
    alice: Client, url: str, headers: dict[str, str]
) -> None:
    before = Message.objects.count()
    response = alice.post(
        url,
        f"message_id={uuid4()}&text={'x' * 10_000_000}",
        content_type="application/x-www-form-urlencoded",
        headers=headers,
    )
    assert response.status_code == 413
    assert "too large" in response.content.decode()
    assert Message.objects.count() == before


@pytest.mark.parametrize(
    "content_type",
    ["multipart/form-data", "multipart/form-data; boundary=x", "application/json", "text/plain"],
)
def test_a_body_nobody_can_read_is_refused_in_words(
    alice: Client, url: str, content_type: str
) -> None:
    response = alice.post(url, b'{"text": ["\xff', content_type=content_type)
    assert response.status_code in {400, 422}
    assert "<h1" in response.content.decode()


def test_while_the_answer_before_is_written_the_text_waits_in_the_page(people: People) -> None:
    running = factories.asked(people.alice)
    url = reverse("chat:ask", args=[running.conversation.pk])
    form = {"text": "I am faster", "message_id": uuid4()}
    sentence = "The answer before is still being written. Stop it, or wait for its end."
    plain = browser(people.alice).post(url, form)
    assert plain.status_code == 409
    assert sentence in plain.content.decode()
    assert "I am faster</textarea>" in plain.content.decode()
    scripted = browser(people.alice).post(url, form, headers=HTMX)
    assert (scripted.status_code, scripted.content.decode().strip()) == (409, sentence)
    assert Message.objects.count() == 2


@pytest.mark.parametrize("headers", [{}, HTMX], ids=["plain", "htmx"])
def test_without_a_model_the_text_is_kept(people: People, headers: dict[str, str]) -> None:
    form = {"text": "Is anybody there?", "message_id": uuid4()}
    response = browser(people.alice).post(START, form, headers=headers)
    body = response.content.decode()
    assert response.status_code == 422
    assert "No model is ready yet. Your text is kept; try again in a moment." in body
    assert headers or "Is anybody there?</textarea>" in body
    assert not Conversation.objects.exists()


@pytest.mark.parametrize("choice", ["gone", "00000000-0000-0000-0000-000000000000"])
def test_a_model_that_went_away_is_not_replaced_in_silence(alice: Client, choice: str) -> None:
    if choice == "gone":
        factories.language_model("other")
        LanguageModel.objects.filter(name="scripted").update(available=False)
        choice = str(LanguageModel.objects.get(name="scripted").pk)
    form = {"text": "Keep me", "message_id": uuid4(), "language_model": choice}
    response = alice.post(START, form)
    body = response.content.decode()
    assert response.status_code == 422
    assert "This model is not available any more. Choose another one." in body
    assert "Keep me</textarea>" in body


def test_the_chosen_model_answers(alice: Client) -> None:
    other = factories.language_model("other")
    form = {"text": "Hello", "message_id": uuid4(), "language_model": other.pk}
    assert alice.post(START, form).status_code == 302
    assert Conversation.objects.get().language_model == other
