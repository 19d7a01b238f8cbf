"""Taking conversations along: nothing is missing, nothing of others is in it."""

from __future__ import annotations

import hashlib
import io
import json
import zipfile
from uuid import uuid4

import pytest

from chat.domain import archive, conversations, rewriting
from chat.models import Generation, Message
from tests import factories
from tests.people import People, browser

pytestmark = pytest.mark.django_db


def unzip(client) -> zipfile.ZipFile:
    response = client.post("/conversations/export/")
    assert response.status_code == 200
    assert response["Content-Type"] == "application/zip"
    return zipfile.ZipFile(io.BytesIO(b"".join(response.streaming_content)))


def test_the_json_holds_the_whole_tree(people: People) -> None:
    asked = factories.answered(people.alice, state=Generation.State.DONE)
    rewriting.regenerate(asked.answer, actor=people.alice, sibling_id=uuid4())
    factories.end(factories.claimed())
    client = browser(people.alice)
    response = client.get(f"/conversations/{asked.conversation.pk}/export.json")
    told = json.loads(response.content)
    assert {m["id"] for m in told["messages"]} == {
        str(pk) for pk in asked.conversation.messages.values_list("pk", flat=True)
    }
    question, first, second = told["messages"]
    assert question["parent"] is None
    assert first["parent"] == second["parent"] == question["id"]
    assert first["text"] == Message.objects.get(pk=asked.answer.pk).text
    assert first["sha256"] == hashlib.sha256(first["text"].encode()).hexdigest()
    model = asked.conversation.language_model
    assert first["model"]["name"] == model.name
    assert first["model"]["sha256"] == model.sha256
    assert first["run"]["state"] == "done"
    assert "run" not in question


def test_the_markdown_reads_as_the_page_does(people: People) -> None:
    asked = factories.answered(people.alice, state=Generation.State.DONE)
    conversations.rename(asked.conversation, "Çay & kahve / <b>", actor=people.alice)
    client = browser(people.alice)
    response = client.get(f"/conversations/{asked.conversation.pk}/export.md")
    assert response["Content-Type"] == "text/markdown; charset=utf-8"
    assert "attachment" in response["Content-Disposition"]
    text = response.content.decode()
    assert text.startswith("# Çay & kahve / <b>\n")
    answer = Message.objects.get(pk=asked.answer.pk)
    assert text.index(asked.question.text) < text.index(answer.text)
    assert asked.conversation.language_model.name in text


def test_the_archive_holds_all_of_mine_and_nothing_else(people: People) -> None:
    mine = [factories.answered(people.alice, state=Generation.State.DONE) for _ in range(3)]
    theirs = factories.answered(people.bob, state=Generation.State.DONE)
    found = unzip(browser(people.alice))
    names = found.namelist()
    assert len(names) == len(set(names)) == 6
    ids = {json.loads(found.read(n))["id"] for n in names if n.endswith(".json")}
    assert ids == {str(asked.conversation.pk) for asked in mine}
    assert str(theirs.conversation.pk) not in ids


def test_an_empty_archive_is_one_too(people: People) -> None:
    assert unzip(browser(people.mallory)).namelist() == []


@pytest.mark.parametrize("title", ["../../etc/passwd", "a\\b:c*?", "…", "İ" * 200, "CON"])
def test_no_title_makes_a_name_that_leads_away(people: People, title: str) -> None:
    asked = factories.answered(people.alice, state=Generation.State.DONE)
    conversations.rename(asked.conversation, title, actor=people.alice)
    name = archive.name_of(asked.conversation)
    assert not set(name) & set("/\\:*?.")
    assert len(name) < 90
