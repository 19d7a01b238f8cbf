"""Bringing conversations: all of a file or nothing, each once, seen as if they had been here."""

from __future__ import annotations

import io
import json
from typing import Any

import pytest
from django.test import override_settings

from chat.domain import export, removal, tree
from chat.models import Conversation, Generation, Message
from tests import factories
from tests.people import People, browser
from tests.unit.test_exported_files import chatgpt, node, webui

pytestmark = pytest.mark.django_db

PAGE = "/conversations/import/"
TALK = (
    node("q", None, "user", "Why is the sky blue?"),
    node("a", "q", "assistant", "Scattering of **light**."),
    node("b", "q", "assistant", "Rayleigh."),
)


@pytest.fixture(autouse=True)
def model():
    return factories.language_model()


def bring(client, data: bytes, name: str = "conversations.json"):
    file = io.BytesIO(data)
    file.name = name
    return client.post(PAGE, {"file": file})


def test_a_file_comes_in_with_its_branches_and_can_be_gone_on_with(people: People) -> None:
    client = browser(people.alice)
    report = bring(client, chatgpt(*TALK)).context["report"]
    assert (report.source, report.conversations, report.messages) == ("ChatGPT", 1, 3)
    conversation = Conversation.objects.get(owner=people.alice)
    leaf = tree.leaf(conversation)
    assert [m.text for m in tree.path(leaf)] == ["Why is the sky blue?", "Rayleigh."]
    page = client.get(f"/conversations/{conversation.pk}/").content.decode()
    assert "gpt-4o" in page
    assert "2/2" in page
    asked = factories.asked(people.alice, "And the sea?", conversation=conversation)
    assert asked.question.parent_id == leaf.pk


def test_the_same_file_twice_is_one(people: People) -> None:
    client = browser(people.alice)
    bring(client, chatgpt(*TALK))
    report = bring(client, chatgpt(*TALK)).context["report"]
    assert (report.conversations, report.already_here) == (0, 1)
    assert Conversation.objects.count() == 1
    assert bring(browser(people.bob), chatgpt(*TALK)).context["report"].conversations == 1
    assert Conversation.objects.filter(owner=people.bob).count() == 1


def test_what_was_just_deleted_comes_back_with_its_file(people: People) -> None:
    client = browser(people.alice)
    bring(client, chatgpt(*TALK))
    mine = Conversation.objects.get()
    removal.remove(people.alice, [mine.pk])
    assert client.get(f"/conversations/{mine.pk}/").status_code == 404
    assert bring(client, chatgpt(*TALK)).context["report"].already_here == 1
    assert client.get(f"/conversations/{mine.pk}/").status_code == 200


def test_what_konak_gave_out_it_takes_back(people: People) -> None:
    asked = factories.answered(people.alice, state=Generation.State.DONE)
    told = export.document(asked.conversation)
    report = bring(browser(people.bob), json.dumps(told).encode()).context["report"]
    assert (report.source, report.messages) == ("Konak", 2)
    [question, answer] = tree.path(tree.leaf(Conversation.objects.get(owner=people.bob)))
    assert question.text == asked.question.text
    assert answer.text == Message.objects.get(pk=asked.answer.pk).text
    assert answer.written_by == asked.conversation.language_model.display_name


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", "This file is empty"),
        (b"PK\x03\x04", "ZIP file"),
        (chatgpt(*TALK)[:-30], "cut off"),
        (b"[1, 2]", "Nothing in this file is known here"),
    ],
)
def test_a_bad_file_is_explained_beside_the_field_and_nothing_is_stored(
    people: People, data: bytes, words: str
) -> None:
    response = bring(browser(people.alice), data)
    assert response.status_code == 422
    page = response.content.decode()
    assert words in page
    assert 'id="id_file_error"' in page
    assert Conversation.objects.count() == 0


def test_a_file_that_is_too_large_is_refused(people: People) -> None:
    with override_settings(IMPORT_MAX_MIB=1):
        response = bring(browser(people.alice), b" " * (1024 * 1024 + 1))
    assert response.status_code == 422
    assert "larger than 1 MB" in response.content.decode()


def test_nothing_is_half_imported(people: People, monkeypatch: pytest.MonkeyPatch) -> None:
    """The second conversation fails in the database; the first is not there either."""
    data = json.loads(chatgpt(*TALK)) + json.loads(webui())
    second: dict[str, Any] = json.loads(chatgpt(node("q", None, "user", "x")))[0]
    second["conversation_id"] = "c2"
    client = browser(people.alice, raise_request_exception=False)
    taken = _id_of_the_question_in(second, people)
    other = factories.answered(people.bob, state=Generation.State.DONE).conversation
    Message.objects.create(
        id=taken, conversation=other, role="user", text="here", created_at=other.created_at
    )
    assert bring(client, json.dumps([data[0], second]).encode()).status_code == 500
    assert not Conversation.objects.filter(owner=people.alice).exists()


def _id_of_the_question_in(item: dict[str, Any], people: People):
    """The id that its first question would get."""
    from chat.domain.imports import moving, reading

    found = reading.read(json.dumps([item]).encode())
    conversation = moving._id_of(found, found.talks[0], people.alice)
    return moving.uuid5(conversation, "q")


def test_odd_texts_are_stored_as_far_as_they_can_be(people: People) -> None:
    data = chatgpt(node("q", None, "user", "a\x00b \ud83d"), title="x" * 10_000)
    assert bring(browser(people.alice), data).status_code == 200
    conversation = Conversation.objects.get()
    assert len(conversation.title) <= 200
    assert conversation.messages.get().text == "ab ?"
