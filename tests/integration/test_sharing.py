"""Sharing inside the organisation: who was named reads what was there, and nobody else anything."""

from __future__ import annotations

from uuid import uuid4

import pytest

from accounts.models import AuditEntry, Group
from chat.domain import branches, messages, rewriting, sharing
from chat.models import Generation, Share
from tests import factories
from tests.people import People, browser, person

pytestmark = pytest.mark.django_db


@pytest.fixture
def asked(people: People) -> messages.Asked:
    return factories.answered(people.alice, state=Generation.State.DONE)


def share_with(asked: messages.Asked, owner, **form: object) -> Share:
    response = browser(owner).post(f"/conversations/{asked.conversation.pk}/share/", form)
    assert response.status_code == 302
    return Share.objects.first()


def seen(user, share: Share) -> int:
    return browser(user).get(f"/shared/{share.pk}/").status_code


def test_who_was_named_reads_and_nobody_else(people: People, asked: messages.Asked) -> None:
    share = share_with(asked, people.alice, people=" BOB@example.org\n")
    page = browser(people.bob).get(f"/shared/{share.pk}/").content.decode()
    assert asked.question.text in page
    assert "Rayleigh scattering." in page
    assert "<form" not in page
    readers = (people.alice, people.mallory, people.administrator)
    assert [seen(each, share) for each in readers] == [200, 404, 404]


def test_a_group_reads_as_long_as_one_is_in_it(people: People, asked: messages.Asked) -> None:
    group = Group.objects.get()
    share = share_with(asked, people.alice, groups=[group.pk])
    assert seen(people.bob, share) == 200
    group.people.remove(people.bob)
    assert seen(people.bob, share) == 404


def test_a_link_taken_back_leads_nowhere(people: People, asked: messages.Asked) -> None:
    share = share_with(asked, people.alice, people="bob@example.org")
    browser(people.alice).post(f"/shared/{share.pk}/revoke/")
    assert [seen(each, share) for each in (people.bob, people.alice)] == [404, 404]


def test_what_came_later_and_other_branches_are_not_seen(
    people: People, asked: messages.Asked
) -> None:
    share = share_with(asked, people.alice, people="bob@example.org")
    factories.answered(
        people.alice, "A secret afterthought", "Kept.", conversation=asked.conversation
    )
    rewriting.regenerate(asked.answer, actor=people.alice, sibling_id=uuid4())
    page = browser(people.bob).get(f"/shared/{share.pk}/").content.decode()
    assert "afterthought" not in page
    assert "Rayleigh scattering." in page
    assert page.count("<article") == 2


def test_the_version_that_was_seen_is_shared_and_not_the_newest(
    people: People, asked: messages.Asked
) -> None:
    rewriting.regenerate(asked.answer, actor=people.alice, sibling_id=uuid4())
    factories.write(newer := factories.claimed(), "Another answer.")
    factories.end(newer)
    page = f"/conversations/{asked.conversation.pk}/"
    client = browser(people.alice)
    shown = client.get(f"{page}?at={asked.answer.pk}").content.decode()
    assert f"{page}share/?at={asked.answer.pk}" in shown
    client.post(f"{page}share/?at={asked.answer.pk}", {"people": "bob@example.org"})
    read = browser(people.bob).get(f"/shared/{Share.objects.get().pk}/").content.decode()
    assert "Rayleigh scattering." in read
    assert "Another answer." not in read
    text = client.get(f"{page}export.md?at={asked.answer.pk}").content.decode()
    assert "Rayleigh scattering." in text and "Another answer." not in text


@pytest.mark.parametrize("at", ["x", str(uuid4())])
def test_a_version_that_is_not_there_is_not_shared(
    people: People, asked: messages.Asked, at: str
) -> None:
    page = f"/conversations/{asked.conversation.pk}/share/?at={at}"
    assert browser(people.alice).get(page).status_code == 404


def test_a_message_of_another_conversation_is_not_shared_here(
    people: People, asked: messages.Asked
) -> None:
    other = factories.answered(people.alice, "Something else")
    page = f"/conversations/{asked.conversation.pk}/share/?at={other.answer.pk}"
    assert browser(people.alice).get(page).status_code == 404


def test_a_deleted_branch_is_not_read_by_its_link(people: People, asked: messages.Asked) -> None:
    more = factories.answered(people.alice, "And red?", conversation=asked.conversation)
    share = sharing.share(more.answer, people=[people.bob], groups=[], actor=people.alice)
    branches.delete(more.question, actor=people.alice)
    assert seen(people.bob, share) == 404


def test_reading_is_noted_for_others_only(people: People, asked: messages.Asked) -> None:
    share = share_with(asked, people.alice, people="bob@example.org")
    seen(people.alice, share)
    assert not AuditEntry.objects.filter(verb="share.read").exists()
    seen(people.bob, share)
    entry = AuditEntry.objects.get(verb="share.read")
    assert (entry.actor_id, entry.object_id) == (people.bob.pk, str(share.pk))


@pytest.mark.parametrize(
    ("form", "words"),
    [
        ({}, "Name somebody"),
        ({"people": "nobody@example.org"}, "Nobody here has this address: nobody@example.org"),
        ({"people": "dana@example.org"}, "Nobody here has this address"),
        ({"people": "a\x00b"}, "Null characters"),
        ({"groups": str(uuid4())}, "error"),
    ],
)
def test_a_form_that_names_nobody_says_so(
    people: People, asked: messages.Asked, form: dict[str, str], words: str
) -> None:
    person("Dana", is_active=False)
    address = f"/conversations/{asked.conversation.pk}/share/"
    response = browser(people.alice).post(address, form)
    assert response.status_code == 422
    assert words in response.content.decode()
    assert not Share.objects.exists()


def test_nobody_shares_with_a_group_that_is_not_theirs(
    people: People, asked: messages.Asked
) -> None:
    other = Group.objects.create(name="Pharmacy")
    address = f"/conversations/{asked.conversation.pk}/share/"
    assert browser(people.alice).post(address, {"groups": other.pk}).status_code == 422


def test_a_long_conversation_has_pages(people: People, asked: messages.Asked) -> None:
    for n in range(30):
        factories.answered(people.alice, f"Question {n}", conversation=asked.conversation)
    share = share_with(asked, people.alice, people="bob@example.org")
    client = browser(people.bob)
    first = client.get(f"/shared/{share.pk}/").content.decode()
    last = client.get(f"/shared/{share.pk}/?page=99").content.decode()
    assert asked.question.text in first
    assert "Question 29" in last
    assert "Question 29" not in first
    assert client.get(f"/shared/{share.pk}/?page=x").status_code == 200
