"""What is filled into moulds is letter for letter what the templates say."""

from __future__ import annotations

import re
from dataclasses import replace
from uuid import uuid4

import pytest
from django.template.loader import render_to_string
from django.utils import translation
from django.utils.safestring import SafeString

from chat.domain import answers, messages
from chat.live import usual
from chat.models import Generation, LanguageModel, Message
from chat.views import asked
from tests import factories
from tests.people import People

LANGUAGES = pytest.mark.parametrize("language", ["en", "tr"])
ONCE = re.compile(r'(name="message_id"\s+value=")[^"]*')
ONCE_ID = re.compile(r'name="message_id"\s+value="([^"]+)"')
# Marks of a mould, addresses and HTML in what people write are text.
TEXT = "<b>&amp; \"x\" {{ y }}</b> 00000000-0000-c0de-0000-000000000004 'z'"


def _same_id(html: str) -> str:
    return ONCE.sub(r"\1", html)


@LANGUAGES
@pytest.mark.django_db
def test_a_question_is_answered_as_the_template_says(people: People, language: str) -> None:
    before = factories.answered(people.alice)
    conversation = before.conversation
    LanguageModel.objects.update(display_name="Small & <fast>")
    conversation.refresh_from_db()
    made = messages.ask(people.alice, TEXT, message_id=uuid4(), conversation=conversation)
    assert made.is_alone
    with translation.override(language):
        filled = asked.html(made)
        whole = asked.html(replace(made, is_alone=False))
    assert "&lt;b&gt;" in filled
    assert _same_id(filled) == _same_id(whole)


@pytest.mark.django_db
def test_the_place_in_line_is_told_at_once(people: People) -> None:
    before = factories.answered(people.alice)
    factories.asked(people.bob)
    made = messages.ask(people.alice, "?", message_id=uuid4(), conversation=before.conversation)
    assert "2nd in line" in asked.html(made)


@pytest.mark.django_db
def test_a_question_beside_another_shows_both_versions(people: People) -> None:
    first = factories.answered(people.alice)
    for text in ("Once?", "Otherwise?"):
        made = messages.ask(
            people.alice, text, message_id=uuid4(), conversation=first.conversation,
            parent=first.answer.pk,
        )  # fmt: skip
    assert not made.is_alone
    assert "2/2" in asked.html(made)


@LANGUAGES
def test_an_answer_that_is_done_looks_as_the_template_says(language: str) -> None:
    model = LanguageModel(display_name="Small & <fast>")
    message = Message(parent_id=uuid4(), role=Message.Role.ASSISTANT, language_model=model)
    run = Generation(message=message, state=Generation.State.DONE)
    html = SafeString("<p>Said &amp; done</p>")
    reading = answers.Reading(message, "Said & done", run, html=html, versions=(message.pk,))
    assert usual.is_plain(reading)
    with translation.override(language):
        context = {"message": message, "reading": reading, "frame": True}
        whole = render_to_string("chat/_answer_frame.html", context)
    assert _same_id(usual.done(reading, language)) == _same_id(whole)
    once, again = (ONCE_ID.findall(usual.done(reading, language)) for _ in range(2))
    assert once
    assert not set(once) & set(again)


@pytest.mark.parametrize(
    "other",
    [{"versions": (uuid4(), uuid4())}, {"html": None}, {"generation": None}],
    ids=["versions", "text alone", "no run"],
)
def test_what_is_out_of_the_ordinary_is_left_to_the_template(other: dict[str, object]) -> None:
    message = Message(language_model=LanguageModel(display_name="x"))
    run = Generation(message=message, state=Generation.State.DONE)
    plain = answers.Reading(message, "y", run, html=SafeString("y"), versions=(message.pk,))
    assert usual.is_plain(plain)
    assert not usual.is_plain(replace(plain, **other))
    for state, reason in (("stopped", ""), ("done", "length"), ("running", "")):
        run.state, run.reason = state, reason
        assert not usual.is_plain(plain)


@LANGUAGES
def test_a_beginning_looks_as_the_template_says(language: str) -> None:
    message = {"pk": uuid4()}
    context = {"message": message, "active": {"message": message}, "oob": True, "frame": True}
    with translation.override(language):
        whole = render_to_string("chat/_begun_frame.html", context)
    assert usual.begun(str(message["pk"]), language) == whole
