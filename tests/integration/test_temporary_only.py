"""A group with temporary chats only: its people store nothing new, and read what they have."""

from __future__ import annotations

from typing import Any
from uuid import uuid4

import pytest
from django.http import HttpResponse
from django.test import Client
from django.urls import reverse

from accounts.domain import policies, provisioning
from accounts.models import AuditEntry, Group, User
from chat.domain import forks, imports, keeping, messages, rewriting
from chat.models import Conversation, Generation, Message
from tests.architecture import house
from tests.architecture.access_matrix import ROWS
from tests.people import browser

pytestmark = pytest.mark.django_db

SENTENCE = "Your group has temporary chats only"
POSTS = [name for name, method, *_ in ROWS if method == "POST" and name.startswith("chat:")]
STORING = {"chat:start", "chat:ask", "chat:edit", "chat:regenerate", "chat:retry", "chat:fork",
           "chat:import"}  # fmt: skip


def closed(name: str = "") -> house.House:
    """Alice's house, since when her group may have temporary chats only."""
    at = house.build(name)
    administrator = at.people["administrator"]
    provisioning.set_temporary_only(Group.objects.get(), True, actor=administrator)
    return at


def counts() -> tuple[int, ...]:
    return tuple(model.objects.count() for model in (Conversation, Message, Generation))


def post(at: house.House, name: str, **headers: Any) -> HttpResponse:
    response = at.browser("owner").post(at.address(name), at.form(name, "owner"), headers=headers)
    if response.streaming:
        b"".join(response.streaming_content)  # read to its end a file is closed
    return response


@pytest.mark.parametrize("name", POSTS)
def test_no_form_of_the_chat_stores_anything_said(name: str) -> None:
    at = closed(name)
    before = counts()
    response = post(at, name)
    after = counts()
    if name in STORING:
        assert after == before
        assert SENTENCE in response.content.decode()
        assert response.status_code in (403, 422)
    else:
        # What is deleted or brought back moves; nothing is said anew.
        assert after[1:] <= before[1:]


@pytest.mark.parametrize("name", sorted(STORING))
def test_without_the_rule_each_of_them_does_store(name: str) -> None:
    at = house.build(name)
    before = counts()
    post(at, name)
    assert counts() > before


def test_every_verb_says_no_by_itself() -> None:
    at = closed()
    alice, asked = at.people["owner"], at.asked
    once = {"actor": alice}
    verbs = [
        lambda: messages.ask(alice, "Hi", message_id=uuid4(), conversation=asked.conversation),
        lambda: messages.edit(asked.question, "Hi", message_id=uuid4(), **once),
        lambda: rewriting.regenerate(asked.answer, sibling_id=uuid4(), **once),
        lambda: rewriting.retry(asked.answer, **once),
        lambda: forks.fork(asked.answer, conversation_id=uuid4(), **once),
        lambda: imports.move_in(
            imports.read(house.EXPORTED.encode()), alice, asked.conversation.language_model
        ),
    ]
    before = counts()
    for verb in verbs:
        with pytest.raises(keeping.TemporaryOnly, match=SENTENCE):
            verb()
    assert counts() == before


def test_a_page_of_hers_offers_the_temporary_chat_instead() -> None:
    at = closed()
    alice = at.browser("owner")
    assert alice.get(reverse("chat:new")).headers["Location"] == reverse("chat:temporary")
    html = alice.get(reverse("chat:temporary")).content.decode()
    assert SENTENCE in html
    page = alice.get(at.address("chat:conversation")).content.decode()
    assert at.asked.question.text in page
    assert SENTENCE in page and reverse("chat:temporary") in page
    assert "<textarea" not in page


def test_what_was_typed_is_given_back() -> None:
    at = closed()
    beside = post(at, "chat:ask", hx_request="true")
    assert beside.headers["HX-Retarget"] == "#problem"
    assert SENTENCE in beside.content.decode()
    whole = post(at, "chat:ask").content.decode()
    assert "Why is the sky blue?" in whole
    edited = post(at, "chat:edit", hx_request="true").content.decode()
    assert "Why is the sky blue?" in edited and SENTENCE in edited


def test_a_page_that_offers_too_much_is_read_again() -> None:
    response = post(closed(), "chat:regenerate", hx_request="true")
    assert response.headers["HX-Refresh"] == "true"


def test_a_title_can_still_be_changed_and_everything_taken_along() -> None:
    at = closed()
    assert post(at, "chat:rename").status_code == 302
    assert post(at, "chat:export_all").status_code == 200
    assert at.browser("owner").get(at.address("chat:export_json")).status_code == 200


def test_one_strict_group_is_enough_and_others_are_free() -> None:
    at = closed()
    alice, stranger = at.people["owner"], at.people["stranger"]
    alice.groups.add(Group.objects.create(name="A free one"))
    assert not policies.may_keep_chats(User.objects.get(pk=alice.pk))
    assert policies.may_keep_chats(stranger)
    assert browser(stranger).get(reverse("chat:new")).status_code == 200
    alice.groups.remove(Group.objects.get(temporary_only=True))
    assert policies.may_keep_chats(User.objects.get(pk=alice.pk))


@pytest.mark.parametrize(("sent", "is_strict"), [("yes", True), ("no", False), ("", False)])
def test_the_administrator_sets_it(sent: str, is_strict: bool) -> None:
    at = house.build()
    group = Group.objects.get()
    client: Client = at.browser("administrator")
    shown = client.get(reverse("accounts:group", args=[group.pk])).content.decode()
    assert "Temporary chats only" in shown
    client.post(reverse("accounts:group_rule", args=[group.pk]), {"temporary_only": sent})
    group.refresh_from_db()
    assert group.temporary_only is is_strict
    entry = AuditEntry.objects.latest("pk")
    assert (entry.verb, entry.facts) == ("group.rule_changed", {"temporary_only": is_strict})
    listed = client.get(reverse("accounts:groups")).content.decode()
    assert ("temporary chats only" in listed) is is_strict
