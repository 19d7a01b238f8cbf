"""Asking otherwise, asking from a page that is behind, and deleting a branch: no overwriting."""

from __future__ import annotations

import threading
from uuid import uuid4

import pytest
from django.db import connections
from django.urls import reverse

from accounts.models import AuditEntry
from chat.domain import branches, messages, paths, rewriting
from chat.models import Conversation, Generation, Message
from tests import factories
from tests.people import People, browser

pytestmark = pytest.mark.django_db

HTMX = {"HX-Request": "true"}
State = Generation.State


def shown(conversation: Conversation) -> list[str]:
    return [reading.text for reading in paths.newest(conversation).readings]


def address(at: Message) -> str:
    page = reverse("chat:conversation", args=[at.conversation_id])
    return f"{page}?at={at.pk}#m-{at.pk}"


def post(people: People, name: str, about: Message, *, scripted: bool = False, **form: object):
    url = reverse(f"chat:{name}", args=[about.pk])
    return browser(people.alice).post(url, form, headers=HTMX if scripted else {})


def ask(people: People, conversation: Conversation, text: str, **form: object):
    url = reverse("chat:ask", args=[conversation.pk])
    form = {"text": text, "message_id": uuid4(), **form}
    return browser(people.alice).post(url, form, headers=HTMX)


@pytest.mark.parametrize("scripted", [False, True], ids=["plain", "htmx"])
def test_an_edited_question_is_another_one_with_an_answer_of_its_own(
    people: People, scripted: bool
) -> None:
    first = factories.answered(people.alice, "Question 1", "Answer 1")
    old = factories.answered(
        people.alice, "Question 2", "Answer 2", conversation=first.conversation
    )
    new = uuid4()
    response = post(
        people, "edit", old.question, scripted=scripted, text="Question two", message_id=new
    )
    asked = Message.objects.get(pk=new)
    assert (asked.parent, asked.text) == (first.answer, "Question two")
    assert asked.children.get().generations.get().state == State.QUEUED
    assert Message.objects.get(pk=old.question.pk).text == "Question 2"
    assert shown(first.conversation) == ["Question 1", "Answer 1", "Question two", ""]
    entry = AuditEntry.objects.get(verb="message.edited")
    assert (entry.object_id, entry.facts) == (
        str(new),
        {"instead_of": str(old.question.pk), "characters": 12},
    )
    if scripted:
        body = response.content.decode()
        assert response.headers["HX-Replace-Url"] == address(asked).partition("#")[0]
        assert f'id="m-{new}"' in body and f'id="m-{first.answer.pk}"' not in body
        assert f'value="{asked.children.get().pk}"' in body  # the composer goes on from here
    else:
        assert response.url == address(asked)


def test_the_first_question_can_be_asked_otherwise(people: People) -> None:
    asked = factories.answered(people.alice)
    post(people, "edit", asked.question, text="Why is it green?", message_id=uuid4())
    assert shown(asked.conversation) == ["Why is it green?", ""]
    assert asked.conversation.messages.filter(parent=None).count() == 2


@pytest.mark.parametrize(
    ("text", "sentence"),
    [(" \n ", "There is nothing to send yet."), ("a\x00b", "Null characters are not allowed.")],
)
@pytest.mark.parametrize("scripted", [False, True], ids=["plain", "htmx"])
def test_a_refused_edit_keeps_the_text_and_the_question(
    people: People, text: str, sentence: str, scripted: bool
) -> None:
    asked = factories.answered(people.alice)
    response = post(
        people, "edit", asked.question, scripted=scripted, text=text, message_id=uuid4()
    )
    body = response.content.decode()
    assert response.status_code == 422
    assert sentence in body and "<textarea" in body
    assert ("<html" in body) is not scripted
    assert not scripted or response.headers["HX-Retarget"] == f"#f-{asked.question.pk}"
    assert Message.objects.count() == 2


def test_the_forms_stand_inside_the_message_or_on_a_page_of_their_own(people: People) -> None:
    asked = factories.answered(people.alice, "What <b>is</b> it?")
    rewriting.regenerate(asked.answer, actor=people.alice, sibling_id=uuid4())
    client = browser(people.alice)
    for name, about in (
        ("edit", asked.question),
        ("delete_branch", asked.answer),
        ("regenerate", asked.answer),
    ):
        url = reverse(f"chat:{name}", args=[about.pk])
        inside = client.get(url, headers=HTMX).content.decode()
        alone = client.get(url).content.decode()
        assert inside.strip().startswith("<form") and "<html" not in inside
        assert "<html" in alone and f'action="{url}"' in alone and f'action="{url}"' in inside
        assert "<b>is" not in inside + alone
    assert Message.objects.count() == 3


def test_two_pages_that_show_the_same_end_make_two_branches(people: People) -> None:
    first = factories.answered(people.alice, "Question", "Answer")
    one, other = (
        ask(people, first.conversation, text, parent=first.answer.pk)
        for text in ("From here", "From there")
    )
    assert (one.status_code, other.status_code) == (200, 200)
    assert {m.text for m in first.answer.children.all()} == {"From here", "From there"}
    assert shown(first.conversation) == ["Question", "Answer", "From there", ""]


def test_a_page_that_is_behind_asks_after_what_it_showed(people: People) -> None:
    first = factories.answered(people.alice, "Question", "Answer")
    factories.answered(people.alice, "Meanwhile", "Indeed", conversation=first.conversation)
    assert ask(people, first.conversation, "Late", parent=first.answer.pk).status_code == 200
    assert Message.objects.get(text="Late").parent == first.answer


def test_what_is_still_being_written_is_waited_for_only_where_it_stands(people: People) -> None:
    first = factories.answered(people.alice, "Question", "Answer")
    running = factories.asked(people.alice, "Next", conversation=first.conversation)
    refused = ask(people, first.conversation, "And?", parent=running.answer.pk)
    assert refused.status_code == 409
    assert ask(people, first.conversation, "And?", parent=first.answer.pk).status_code == 200


def test_a_question_after_a_deleted_message_keeps_its_text(people: People) -> None:
    first = factories.answered(people.alice, "Question", "Answer")
    gone = factories.answered(people.alice, "Gone", "Gone too", conversation=first.conversation)
    branches.delete(gone.question, actor=people.alice)
    refused = ask(people, first.conversation, "Late", parent=gone.answer.pk)
    assert refused.status_code == 409
    assert "deleted in another window. Your text is kept" in refused.content.decode()
    assert not Message.objects.filter(text="Late").exists()


def test_a_deleted_question_takes_everything_below_it_and_nothing_else(people: People) -> None:
    first = factories.answered(people.alice, "Question", "Answer")
    gone = factories.answered(people.alice, "Gone", "Gone too", conversation=first.conversation)
    factories.answered(people.alice, "Gone three", "Four", conversation=first.conversation)
    rewriting.regenerate(gone.answer, actor=people.alice, sibling_id=uuid4())
    response = post(people, "delete_branch", gone.question, scripted=True)
    assert response.headers["HX-Replace-Url"] == address(first.answer).partition("#")[0]
    assert f'name="parent" value="{first.answer.pk}"' in " ".join(response.content.decode().split())
    assert shown(first.conversation) == ["Question", "Answer"]
    entry = AuditEntry.objects.get(verb="branch.deleted")
    assert (entry.object_id, entry.facts) == (str(gone.question.pk), {"messages": 5})
    assert first.conversation.messages.filter(generations__isnull=False).count() == 1


def test_after_a_deleted_version_the_newest_other_one_is_shown(people: People) -> None:
    asked = factories.answered(people.alice, "Question", "First")
    second = messages.edit(
        asked.question, "Question 2", message_id=uuid4(), actor=people.alice
    ).question
    third = messages.edit(
        asked.question, "Question 3", message_id=uuid4(), actor=people.alice
    ).question
    assert post(people, "delete_branch", asked.question).url == address(third)
    assert post(people, "delete_branch", third).url == address(second)
    assert branches.of(second).is_all


def test_the_only_answer_goes_with_its_question_and_the_only_question_with_the_conversation(
    people: People,
) -> None:
    first = factories.answered(people.alice, "Question", "Answer")
    second = factories.answered(people.alice, "Second", "Two", conversation=first.conversation)
    assert branches.of(second.answer).top == second.question
    whole = reverse("chat:delete", args=[first.conversation.pk])
    for method in ("get", "post"):
        url = reverse("chat:delete_branch", args=[first.answer.pk])
        assert getattr(browser(people.alice), method)(url).url == whole
    assert Message.objects.count() == 4
    assert whole in browser(people.alice).get(address(first.answer)).content.decode()


def test_an_answer_being_written_in_a_deleted_branch_is_stopped_first(people: People) -> None:
    first = factories.answered(people.alice, "Question", "Answer")
    running = factories.asked(people.alice, "Running", conversation=first.conversation)
    run = factories.claimed()
    factories.write(run, "Half")
    post(people, "delete_branch", running.question)
    verbs = AuditEntry.objects.order_by("pk").values_list("verb", flat=True)
    assert list(verbs)[-2:] == ["answer.stopped", "branch.deleted"]
    assert Generation.objects.get(message=running.answer).stop_requested


def test_a_branch_is_deleted_once(people: People) -> None:
    first = factories.answered(people.alice, "Question", "Answer")
    gone = factories.answered(people.alice, "Gone", "Gone", conversation=first.conversation)
    assert post(people, "delete_branch", gone.question).status_code == 302
    assert post(people, "delete_branch", gone.question).status_code == 404
    assert post(people, "edit", gone.question, text="x", message_id=uuid4()).status_code == 404
    assert AuditEntry.objects.filter(verb="branch.deleted").count() == 1


@pytest.mark.parametrize("scripted", [False, True], ids=["plain", "htmx"])
def test_the_same_edit_twice_is_one(people: People, scripted: bool) -> None:
    asked = factories.answered(people.alice)
    form = {"text": "Otherwise", "message_id": uuid4()}
    first = post(people, "edit", asked.question, scripted=scripted, **form)
    again = post(people, "edit", asked.question, scripted=scripted, **form)
    assert (again.status_code, again.headers.get("Location")) == (
        first.status_code,
        first.headers.get("Location"),
    )
    assert Message.objects.count() == 4
    assert AuditEntry.objects.filter(verb="message.edited").count() == 1


@pytest.mark.django_db(transaction=True)
def test_edits_that_meet_become_branches_and_none_is_lost(people: People) -> None:
    asked = factories.answered(people.alice)
    gate, errors = threading.Barrier(4), []

    def change(name: str) -> None:
        gate.wait()
        try:
            messages.edit(asked.question, name, message_id=uuid4(), actor=people.alice)
        except Exception as error:
            errors.append(error)
        finally:
            connections.close_all()

    threads = [threading.Thread(target=change, args=[name]) for name in "abcd"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    roots = asked.conversation.messages.filter(parent=None)
    assert {m.text for m in roots} == {asked.question.text, *"abcd"}
