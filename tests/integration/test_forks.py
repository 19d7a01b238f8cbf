"""A new conversation that begins as another went: what is copied, and that it is copied once."""

from __future__ import annotations

from uuid import uuid4

import pytest
from django.urls import reverse

from accounts.models import AuditEntry
from chat.domain import forks, paths, rewriting, titles, tree
from chat.models import Conversation, Generation, Message
from tests import factories
from tests.people import People, browser

pytestmark = pytest.mark.django_db


def post(people: People, answer: Message, **form: object):
    return browser(people.alice).post(reverse("chat:fork", args=[answer.pk]), form)


def test_a_fork_has_the_path_up_to_the_answer_under_ids_of_its_own(people: People) -> None:
    first = factories.answered(people.alice, "Question 1", "Answer 1")
    other = factories.language_model("other")
    rewriting.regenerate(first.answer, actor=people.alice, sibling_id=uuid4(), language_model=other)
    factories.end(factories.claimed())
    second = factories.answered(
        people.alice, "Question 2", "Answer 2", conversation=first.conversation
    )
    factories.answered(people.alice, "Question 3", "Answer 3", conversation=first.conversation)
    made_id = uuid4()
    response = post(people, second.answer, message_id=made_id)
    made = Conversation.objects.get(pk=made_id)
    assert response.url == reverse("chat:conversation", args=[made_id])
    assert (made.owner, made.language_model) == (
        people.alice,
        first.conversation.language_model,
    )
    assert made.title == "Question 1 (copy)"
    old, new = tree.path(second.answer), [r.message for r in paths.newest(made).readings]
    assert [(m.role, m.text, m.language_model) for m in new] == [
        (m.role, m.text, m.language_model) for m in old
    ]
    assert {m.pk for m in new}.isdisjoint({m.pk for m in old})
    assert [m.parent_id for m in new] == [None, *(m.pk for m in new[:-1])]
    assert made.messages.count() == 4
    assert not Generation.objects.filter(message__conversation=made).exists()
    entry = AuditEntry.objects.get(verb="conversation.forked")
    assert (entry.object_id, entry.facts) == (
        str(made_id),
        {"origin": str(first.conversation.pk), "messages": 4},
    )


def test_a_fork_goes_its_own_way(people: People) -> None:
    first = factories.answered(people.alice, "Question", "Answer")
    made = forks.fork(first.answer, conversation_id=uuid4(), actor=people.alice)
    factories.asked(people.alice, "Another way", conversation=made)
    assert len(paths.newest(made).readings) == 4
    assert len(paths.newest(first.conversation).readings) == 2
    first.conversation.delete()
    assert [r.text for r in paths.newest(made).readings][:2] == ["Question", "Answer"]
    assert made not in titles.due(limit=9)


def test_the_same_post_twice_is_one_conversation(people: People) -> None:
    first = factories.answered(people.alice)
    form = {"message_id": uuid4()}
    one, again = post(people, first.answer, **form), post(people, first.answer, **form)
    assert one.url == again.url
    assert Conversation.objects.count() == 2 and Message.objects.count() == 4
    assert AuditEntry.objects.filter(verb="conversation.forked").count() == 1


def test_a_page_without_an_id_is_out_of_date(people: People) -> None:
    first = factories.answered(people.alice)
    for form in ({}, {"message_id": "1"}):
        response = post(people, first.answer, **form)
        assert response.status_code == 422
        assert "This page is out of date." in response.content.decode()
    assert Conversation.objects.count() == 1


def test_a_copied_answer_that_was_never_written_says_so(people: People) -> None:
    first = factories.answered(people.alice, answer="", state=Generation.State.FAILED)
    made = forks.fork(first.answer, conversation_id=uuid4(), actor=people.alice)
    page = browser(people.alice).get(reverse("chat:conversation", args=[made.pk]))
    assert "This answer was never written." in page.content.decode()
    answer = paths.newest(made).leaf
    assert answer
    rewriting.regenerate(answer, actor=people.alice, sibling_id=uuid4())
    assert factories.claimed().message.parent_id == answer.parent_id
