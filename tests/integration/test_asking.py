"""Asking through the page: what is recorded, and that the same post twice is one message."""

from __future__ import annotations

import threading
from uuid import uuid4

import pytest
from django.db import connection, connections
from django.urls import reverse

from accounts.models import AuditEntry
from chat.domain import messages
from chat.models import Conversation, Generation, Message
from tests import factories
from tests.people import People, browser

pytestmark = pytest.mark.django_db

HTMX = {"HX-Request": "true"}
START = "/conversations/"


def ask_url(conversation: Conversation) -> str:
    return reverse("chat:ask", args=[conversation.pk])


def test_a_first_question_becomes_conversation_question_empty_answer_run_and_audit_entry(
    people: People,
) -> None:
    model = factories.language_model()
    message_id = uuid4()
    response = browser(people.alice).post(
        START, {"text": "  Why is\r\nthe sky blue?\n", "message_id": message_id}
    )
    conversation = Conversation.objects.get()
    assert response.status_code == 302
    assert response.url == reverse("chat:conversation", args=[conversation.pk])
    assert (conversation.owner, conversation.language_model) == (people.alice, model)
    assert conversation.title == "Why is the sky blue?"

    question = Message.objects.get(pk=message_id)
    answer = question.children.get()
    assert (question.role, question.parent, question.text) == (
        "user",
        None,
        "  Why is\nthe sky blue?",
    )
    assert (answer.role, answer.text, answer.language_model) == ("assistant", "", model)
    assert Generation.objects.get().message == answer
    assert Generation.objects.get().state == Generation.State.QUEUED

    entry = AuditEntry.objects.get(verb="message.asked")
    assert entry.actor_id == people.alice.pk
    assert (entry.object_type, entry.object_id) == ("message", str(message_id))
    assert entry.facts == {"characters": len(question.text)}


def test_the_next_question_hangs_under_the_answer_before(people: People) -> None:
    first = factories.answered(people.alice)
    message_id = uuid4()
    response = browser(people.alice).post(
        ask_url(first.conversation), {"text": "And at dusk?", "message_id": message_id}
    )
    assert response.status_code == 302
    assert Message.objects.get(pk=message_id).parent == first.answer
    assert Conversation.objects.count() == 1


def test_with_scripts_the_reply_holds_both_messages_and_a_fresh_id(people: People) -> None:
    first = factories.answered(people.alice)
    message_id = uuid4()
    response = browser(people.alice).post(
        ask_url(first.conversation),
        {"text": "And <b>at dusk</b>?", "message_id": message_id},
        headers=HTMX,
    )
    body = response.content.decode()
    assert response.status_code == 200
    assert f'id="m-{message_id}"' in body
    assert "And &lt;b&gt;at dusk&lt;/b&gt;?" in body
    assert f'id="m-{Message.objects.get(pk=message_id).children.get().pk}"' in body
    assert 'id="message-id"' in body
    assert f'value="{message_id}"' not in body


def test_with_scripts_a_new_conversation_opens_its_own_page(people: People) -> None:
    factories.language_model()
    response = browser(people.alice).post(
        START, {"text": "Hello", "message_id": uuid4()}, headers=HTMX
    )
    conversation = Conversation.objects.get()
    assert response.headers["HX-Redirect"] == reverse("chat:conversation", args=[conversation.pk])


@pytest.mark.parametrize("headers", [{}, HTMX], ids=["plain", "htmx"])
def test_the_same_post_again_is_the_same_message(people: People, headers: dict[str, str]) -> None:
    factories.language_model()
    client, form = browser(people.alice), {"text": "Hello", "message_id": uuid4()}
    first = client.post(START, form, headers=headers)
    again = client.post(START, form, headers=headers)
    assert again.status_code == first.status_code
    assert again.headers.get("Location") == first.headers.get("Location")
    assert again.headers.get("HX-Redirect") == first.headers.get("HX-Redirect")
    assert Message.objects.count() == 2
    assert Generation.objects.count() == 1
    assert AuditEntry.objects.filter(verb="message.asked").count() == 1


def test_the_same_post_again_in_a_conversation_is_the_same_message(people: People) -> None:
    first = factories.answered(people.alice)
    client, form = browser(people.alice), {"text": "And at dusk?", "message_id": uuid4()}
    client.post(ask_url(first.conversation), form, headers=HTMX)
    again = client.post(ask_url(first.conversation), form, headers=HTMX)
    assert again.status_code == 200
    assert f'id="m-{form["message_id"]}"' in again.content.decode()
    assert Message.objects.count() == 4


def test_somebody_elses_message_id_is_as_good_as_missing(people: People) -> None:
    alices = factories.answered(people.alice, "Alice's secret")
    bobs = factories.answered(people.bob)
    client = browser(people.bob)
    for url in (START, ask_url(bobs.conversation)):
        for taken in (alices.question.pk, alices.answer.pk):
            response = client.post(url, {"text": "Mine", "message_id": taken})
            assert response.status_code == 404
            assert "secret" not in response.content.decode()
    assert Conversation.objects.filter(owner=people.bob).count() == 1
    assert Message.objects.count() == 4


def test_nothing_is_recorded_when_one_part_fails(people: People) -> None:
    model = factories.language_model()
    with connection.cursor() as cursor:
        cursor.execute(
            "ALTER TABLE accounts_auditentry"
            " ADD CONSTRAINT full_disk CHECK (verb <> 'message.asked')"
        )
    with pytest.raises(Exception, match="full_disk"):
        messages.ask(people.alice, "Hello", message_id=uuid4(), language_model=model)
    assert not Conversation.objects.exists()
    assert not Message.objects.exists()
    assert not Generation.objects.exists()


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("existing", [False, True], ids=["new", "existing"])
def test_a_double_click_is_one_message(people: People, existing: bool) -> None:
    model = factories.language_model()
    conversation = factories.answered(people.alice).conversation if existing else None
    before = Message.objects.count()
    message_id, gate = uuid4(), threading.Barrier(4)
    outcomes: list[object] = []

    def click() -> None:
        gate.wait()
        try:
            asked = messages.ask(
                people.alice,
                "Hello",
                message_id=message_id,
                conversation=conversation,
                language_model=model,
            )
            outcomes.append(asked.answer.pk)
        except Exception as error:
            outcomes.append(error)
        finally:
            connections.close_all()

    threads = [threading.Thread(target=click) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert outcomes == [Message.objects.get(pk=message_id).children.get().pk] * 4
    assert Message.objects.count() == before + 2
    assert Conversation.objects.count() == 1
