"""A deleted branch: out of sight at once, back by one click for a minute, then gone for good."""

from __future__ import annotations

from datetime import timedelta
from uuid import uuid4

import pytest
from django.db.models import F
from django.http import Http404
from django.urls import reverse

from accounts.models import AuditEntry
from chat.domain import branches, messages, paths, rewriting
from chat.models import Conversation, Generation, Message
from chat.tasks import reap
from tests import factories
from tests.people import People, browser

pytestmark = pytest.mark.django_db

HTMX = {"HX-Request": "true"}


@pytest.fixture
def first(people: People) -> messages.Asked:
    return factories.answered(people.alice, "Question", "Answer")


@pytest.fixture
def second(people: People, first: messages.Asked) -> messages.Asked:
    return factories.answered(people.alice, "Second", "Two", conversation=first.conversation)


def shown(conversation: Conversation) -> list[str]:
    return [reading.text for reading in paths.newest(conversation).readings]


def page(people: People, conversation: Conversation) -> str:
    url = reverse("chat:conversation", args=[conversation.pk])
    return browser(people.alice).get(url).content.decode()


def restore(people: People, cut: branches.Cut, who: str = "alice", *, scripted: bool = False):
    url = reverse("chat:restore", args=[cut.branch.cut_from_id, cut.branch.pk])
    return browser(getattr(people, who)).post(url, headers=HTMX if scripted else {})


def age(cut: branches.Cut, by: timedelta) -> None:
    Conversation.objects.filter(pk=cut.branch.pk).update(cut_at=F("cut_at") - by)


@pytest.mark.parametrize("scripted", [False, True], ids=["plain", "htmx"])
def test_what_was_deleted_comes_back_as_it_stood(
    people: People, first: messages.Asked, second: messages.Asked, scripted: bool
) -> None:
    factories.answered(people.alice, "Third", "Three", conversation=first.conversation)
    before = list(Message.objects.order_by("created_at").values())
    url = reverse("chat:delete_branch", args=[second.question.pk])
    reply = browser(people.alice).post(url, headers=HTMX if scripted else {})
    body = reply.content.decode() if scripted else page(people, first.conversation)
    assert "4 messages deleted." in body and "Undo" in body and "Two" not in body
    assert shown(first.conversation) == ["Question", "Answer"]
    # Where it stood: after the answer before it.
    assert scripted or body.index("Answer") < body.index("4 messages deleted.")

    cut = branches.Cut(first.answer, Conversation.objects.get(cut_from=first.conversation))
    response = restore(people, cut, scripted=scripted)
    address = f"at={second.question.pk}"
    assert address in (response.headers["HX-Replace-Url"] if scripted else response.url)
    assert scripted is ("Three" in response.content.decode())
    assert list(Message.objects.order_by("created_at").values()) == before
    assert Conversation.objects.count() == 1
    assert "messages deleted." not in page(people, first.conversation)
    entry = AuditEntry.objects.get(verb="branch.restored")
    assert (entry.object_id, entry.facts) == (str(second.question.pk), {"messages": 4})
    assert "4 messages deleted." not in page(people, first.conversation)


def test_a_version_comes_back_beside_the_others(people: People, first: messages.Asked) -> None:
    other = messages.edit(first.question, "Other", message_id=uuid4(), actor=people.alice)
    cut = branches.delete(other.question, actor=people.alice)
    assert cut.shown == first.question
    # There is no message above it: the offer stands before the first.
    body = page(people, first.conversation)
    assert body.index("messages deleted.") < body.index(f'id="m-{first.question.pk}"')
    top = branches.restore(first.conversation, cut.branch.pk, actor=people.alice)
    assert (top, top.parent_id) == (other.question, None)
    assert first.conversation.messages.filter(parent=None).count() == 2


@pytest.mark.parametrize("who", ["bob", "mallory", "administrator"])
def test_to_others_it_is_not_there(
    people: People, first: messages.Asked, second: messages.Asked, who: str
) -> None:
    cut = branches.delete(second.question, actor=people.alice)
    assert restore(people, cut, who).status_code == 404
    # Not even by way of a conversation of their own.
    own = factories.answered(getattr(people, who)).conversation
    url = reverse("chat:restore", args=[own.pk, cut.branch.pk])
    browser(getattr(people, who)).post(url)
    assert shown(first.conversation) == ["Question", "Answer"]


def test_nobody_sees_where_it_waits(
    people: People, first: messages.Asked, second: messages.Asked
) -> None:
    cut = branches.delete(second.question, actor=people.alice)
    hidden = cut.branch.pk
    alice = browser(people.alice)
    assert (cut.branch.title, cut.branch.title_due) == ("", False)
    for name, pk in (("conversation", hidden), ("answer", second.answer.pk), ("rename", hidden)):
        assert alice.get(reverse(f"chat:{name}", args=[pk])).status_code == 404
    assert str(hidden) not in alice.get("/").content.decode()
    with pytest.raises(Http404):
        rewriting.regenerate(second.answer, actor=people.alice, sibling_id=uuid4())
    with pytest.raises(Http404):
        branches.delete(second.answer, actor=people.alice)


def test_after_a_minute_it_is_gone_for_good(
    people: People, first: messages.Asked, second: messages.Asked
) -> None:
    cut = branches.delete(second.question, actor=people.alice)
    reap()
    age(cut, branches.UNDO)
    assert "messages deleted." not in page(people, first.conversation)
    age(cut, timedelta(seconds=6))
    refused = restore(people, cut, scripted=True)
    assert refused.status_code == 409
    assert "can no longer be undone" in refused.content.decode()
    reap()
    assert Message.objects.count() == 2
    assert Generation.objects.count() == 1
    assert Conversation.objects.count() == 1
    entry = AuditEntry.objects.get(verb="branch.erased")
    assert (entry.actor_id, entry.facts) == (None, {"messages": 2})
    assert restore(people, cut).url == reverse("chat:conversation", args=[first.conversation.pk])


def test_a_branch_whose_place_is_deleted_waits_for_its_place(
    people: People, first: messages.Asked, second: messages.Asked
) -> None:
    third = factories.answered(people.alice, "Third", "Three", conversation=first.conversation)
    inner = branches.delete(third.question, actor=people.alice)
    outer = branches.delete(second.question, actor=people.alice)
    assert restore(people, inner, scripted=True).status_code == 409
    assert restore(people, outer).status_code == 302
    assert restore(people, inner).status_code == 302
    assert shown(first.conversation)[-2:] == ["Third", "Three"]


def test_what_is_inside_goes_with_what_is_around_it(
    people: People, first: messages.Asked, second: messages.Asked
) -> None:
    third = factories.answered(people.alice, "Third", "Three", conversation=first.conversation)
    branches.delete(third.question, actor=people.alice)
    outer = branches.delete(second.question, actor=people.alice)
    age(outer, branches.UNDO * 2)
    reap()
    assert Conversation.objects.get() == first.conversation
    assert Message.objects.count() == 2


def test_the_end_of_a_conversation_is_the_end_of_what_was_deleted_from_it(
    people: People, first: messages.Asked, second: messages.Asked
) -> None:
    branches.delete(second.question, actor=people.alice)
    factories.erase(first.conversation)
    assert not Message.objects.exists() and not Conversation.objects.exists()


def test_an_answer_that_was_being_written_comes_back_stopped(
    people: People, first: messages.Asked
) -> None:
    running = factories.asked(people.alice, "Running", conversation=first.conversation)
    run = factories.claimed()
    factories.write(run, "Half")
    cut = branches.delete(running.question, actor=people.alice)
    assert Generation.objects.get(pk=run.pk).stop_requested
    branches.restore(first.conversation, cut.branch.pk, actor=people.alice)
    assert shown(first.conversation) == ["Question", "Answer", "Running", "Half"]
