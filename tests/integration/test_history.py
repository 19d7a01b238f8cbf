"""Keeping conversations in order: pins, folders, the archive, and what is deleted by mistake."""

from __future__ import annotations

import re
from datetime import timedelta
from uuid import uuid4

import pytest
from django.db.models import F
from django.test import Client
from django.urls import reverse

from chat.domain import branches, shelves
from chat.models import Conversation, Folder, Generation
from tests import factories
from tests.people import People, browser

pytestmark = pytest.mark.django_db

ACT = "/history/act/"


def talk(user, title: str) -> Conversation:
    return factories.answered(user, title).conversation


def listed(client: Client, page: str = "/") -> list[str]:
    """The titles in the sidebar of a page, in their order."""
    return re.findall(r'id="c-[^>]*>([^<]*)</a>', client.get(page).content.decode())


def do(client: Client, act: str, *conversations: Conversation, **more: str):
    form = {"act": act, "conversation": [str(c.pk) for c in conversations], **more}
    return client.post(ACT, form)


def test_what_is_pinned_comes_first_and_what_is_archived_is_out_of_the_way(people: People) -> None:
    client = browser(people.alice)
    one, two, three = (talk(people.alice, f"Talk {n}") for n in (1, 2, 3))
    assert listed(client) == ["Talk 3", "Talk 2", "Talk 1"]
    do(client, "pin", one)
    do(client, "archive", two)
    assert listed(client) == ["Talk 1", "Talk 3"]
    archive = client.get("/history/archive/").content.decode()
    assert "Talk 2" in archive and "Talk 3" not in archive.split('class="history"')[1]
    do(client, "unpin", one)
    do(client, "unarchive", two)
    assert listed(client) == ["Talk 3", "Talk 2", "Talk 1"]
    assert three.pinned_at is None


def test_a_folder_holds_what_was_moved_there(people: People) -> None:
    client = browser(people.alice)
    one, two = talk(people.alice, "Talk 1"), talk(people.alice, "Talk 2")
    there = client.post("/history/folders/", {"name": "Vergi"}).url
    folder = Folder.objects.get(owner=people.alice)
    assert there == f"/history/folders/{folder.pk}/"
    do(client, "move", one, folder=str(folder.pk))
    assert listed(client) == ["Talk 2"]
    inside = client.get(there).content.decode().split('class="history"')[1]
    assert "Talk 1" in inside and "Talk 2" not in inside
    client.post(there + "delete/")
    assert listed(client) == ["Talk 2", "Talk 1"]
    assert two.folder_id is None


@pytest.mark.parametrize("name", ["", "x" * 81, "a\x00b", "Vergi"])
def test_a_name_that_cannot_be_is_said_beside_the_field(people: People, name: str) -> None:
    client = browser(people.alice)
    shelves.add_folder(people.alice, "Vergi")
    response = client.post("/history/folders/", {"name": name})
    assert response.status_code == 422
    assert 'id="id_name_error"' in response.content.decode()
    assert Folder.objects.count() == 1


def test_two_people_may_have_a_folder_of_one_name(people: People) -> None:
    for user in (people.alice, people.bob):
        shelves.add_folder(user, "Vergi")
    with pytest.raises(shelves.NameTaken):
        shelves.add_folder(people.bob, "Vergi")


def test_nobody_puts_a_conversation_into_the_folder_of_another(people: People) -> None:
    folder = shelves.add_folder(people.bob, "Vergi")
    mine = talk(people.alice, "Talk 1")
    response = do(browser(people.alice), "move", mine, folder=str(folder.pk))
    assert response.status_code == 404
    mine.refresh_from_db()
    assert mine.folder is None


def test_many_are_deleted_at_once_and_brought_back_at_once(people: People) -> None:
    client = browser(people.alice)
    talks = [talk(people.alice, f"Talk {n}") for n in range(3)]
    back = do(client, "delete", *talks, next="/history/").url
    page = client.get(back).content.decode()
    assert "3 conversations are deleted." in page
    assert listed(client) == []
    assert "are deleted" not in client.get(back).content.decode()
    form = {"conversation": [str(t.pk) for t in talks], "next": "/history/"}
    assert client.post("/history/restore/", form).status_code == 302
    assert len(listed(client)) == 3


def test_too_late_is_too_late(people: People) -> None:
    client = browser(people.alice)
    mine = talk(people.alice, "Talk 1")
    do(client, "delete", mine)
    Conversation.objects.update(cut_at=F("cut_at") - timedelta(minutes=2))
    branches.erase()
    client.post("/history/restore/", {"conversation": [str(mine.pk)]})
    assert not Conversation.objects.exists()


def test_a_deleted_answer_branch_is_not_restored_as_a_conversation(people: People) -> None:
    first = factories.answered(people.alice)
    second = factories.answered(people.alice, "Two", conversation=first.conversation)
    cut = branches.delete(second.question, actor=people.alice).branch
    browser(people.alice).post("/history/restore/", {"conversation": [str(cut.pk)]})
    assert Conversation.objects.get(pk=cut.pk).cut_at is not None


def test_an_answer_being_written_is_stopped_when_its_conversation_goes(people: People) -> None:
    asked = factories.asked(people.alice)
    run = factories.claimed()
    factories.write(run, "Half")
    do(browser(people.alice), "delete", asked.conversation)
    assert Generation.objects.get(pk=run.pk).stop_requested


@pytest.mark.parametrize(
    ("form", "status"),
    [
        ({"act": "burn"}, 400),
        ({}, 400),
        ({"act": "pin", "conversation": "x"}, 404),
        ({"act": "move", "folder": "x"}, 404),
        ({"act": "move", "folder": str(uuid4())}, 404),
        ({"act": "pin", "next": "https://evil.example/"}, 302),
        ({"act": "pin", "next": "//evil.example/"}, 302),
    ],
)
def test_what_no_page_sends_does_no_harm(people: People, form: dict[str, str], status: int) -> None:
    response = browser(people.alice).post(ACT, form)
    assert response.status_code == status
    if status == 302:
        assert response.url == "/history/"


def test_a_long_history_has_pages(people: People) -> None:
    model = factories.language_model()
    first = talk(people.alice, "The first one of all")
    Conversation.objects.bulk_create(
        Conversation(
            owner=people.alice, title=f"Talk {n}", language_model=model,
            updated_at=first.updated_at + timedelta(seconds=n + 1),
        )
        for n in range(120)
    )  # fmt: skip
    client = browser(people.alice)
    inside = [
        client.get(f"{reverse('chat:history')}?page={n}")
        .content.decode()
        .split('class="history"')[1]
        for n in (1, 3, 99)
    ]
    assert "The first one" not in inside[0] and "Talk 119" in inside[0]
    assert "The first one" in inside[1]
    assert "The first one" in inside[2]
