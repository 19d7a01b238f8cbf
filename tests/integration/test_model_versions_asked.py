"""Every path to an engine asks for the approved file, and for no other; answers remember which."""

from __future__ import annotations

import asyncio
from pathlib import Path
from unittest.mock import ANY
from urllib.parse import urlsplit
from uuid import uuid4

import pytest
from django.conf import settings as configured
from django.urls import reverse

from chat import tasks
from chat.domain import (
    capacity,
    catalogue,
    connections,
    export,
    prompts,
    rewriting,
    rights,
    titles,
    transcripts,
    versions,
)
from chat.models import Conversation, Generation, LanguageModel
from chat.temporary import accepting
from chat.temporary.talk import Talk
from engine_adapter.errors import ModelChanged
from engine_adapter.types import Failed, ModelCard, Request, Sampling, Turn
from tests import factories
from tests.integration.engine_hosts import running_host
from tests.integration.test_runner import ended
from tests.people import People, browser
from tests.scripts import SCRIPT, engine_host, in_database, running
from tests.temporaries import TemporaryPage

pytestmark = pytest.mark.django_db(transaction=True)

OLD, NEW = ("a" * 64, "b" * 64)
State = Generation.State


def look(sha256: str | None, *more: ModelCard) -> LanguageModel:
    """The engine is looked at; the model as it is then."""
    card = ModelCard("scripted", sha256=sha256, continues=True)
    catalogue.refresh(connections.bundled(), [card, *more])
    return LanguageModel.objects.select_related("engine").get(name="scripted")


def runs_another(people: People) -> LanguageModel:
    """The model answers with the file of another name."""
    model = look(OLD, ModelCard("file-b", sha256=NEW, continues=True))
    versions.add(model, LanguageModel.objects.get(name="file-b"), actor=people.administrator)
    other = model.versions.get(name="file-b")
    versions.approve(other, instead_of=model.runs_id, actor=people.administrator)
    return LanguageModel.objects.select_related("engine").get(name="scripted")


def test_everybody_asks_for_the_file_that_runs(people: People) -> None:
    model = runs_another(people)
    asked = factories.asked(people.alice, model=model)
    talk = Talk()
    talk.ask("Hello")
    for request in (
        prompts.build(factories.claimed()).request,
        titles.build(asked.conversation),
        talk.request(model, str(people.alice.pk)),
    ):
        assert (request.model, request.model_sha256) == ("file-b", NEW)


def test_nobody_asks_for_a_file_that_nobody_approved(people: People) -> None:
    model = look(OLD)
    done = factories.answered(people.mallory, model=model)
    assert titles.due(limit=5) == [done.conversation]
    factories.asked(people.alice, model=model)
    model = look(NEW, ModelCard("other"))
    other = LanguageModel.objects.get(name="other")
    with pytest.raises(rights.Held):
        prompts.build(factories.claimed())
    assert titles.build(Conversation.objects.get(pk=done.conversation.pk)) is None
    assert titles.due(limit=5) == []
    client = browser(people.mallory)
    told = {"message_id": str(uuid4()), "language_model": str(model.pk)}
    address = reverse("chat:regenerate", args=[done.answer.pk])
    assert client.post(address, told).status_code == 422
    assert client.post("/conversations/", {"text": "Hello", **told}).status_code == 422
    done.conversation.language_model = other
    done.conversation.save()
    again = rewriting.regenerate(done.answer, actor=people.mallory, sibling_id=uuid4())
    assert again.language_model == other
    with pytest.raises(accepting.Refused):
        accepting.check(people.alice, model)
    test = capacity.begin(model, actor=people.administrator)
    assert test is not None
    tasks.measure_capacity(str(test.pk))
    test.refresh_from_db()
    assert (test.trouble, test.points) == ("held", [])


async def test_a_question_that_waited_ends_before_the_engine_is_asked(people: People) -> None:
    model = await in_database(look)(OLD)
    asked = await in_database(factories.asked)(people.alice, model=model)
    await in_database(look)(NEW)
    async with engine_host(SCRIPT) as engine, running():
        run = await ended(asked)
        assert (run.state, run.reason, run.version_id) == (State.FAILED, "held", None)
        assert engine.started == 0
        address = reverse("chat:conversation", args=[asked.conversation.pk])
        page = await in_database(lambda: browser(people.alice).get(address).content.decode())()
        assert "waits for an administrator’s approval; your message is kept" in page
        async with TemporaryPage(people.alice) as temporary:
            told = {"language_model": str(model.pk)}
            assert "not available any more" in await temporary.refusal("Hello", **told)
        assert engine.started == 0


async def test_an_answer_remembers_the_file_that_wrote_it(people: People) -> None:
    model = await in_database(look)(OLD)
    asked = await in_database(factories.asked)(people.alice, model=model)
    async with engine_host(SCRIPT), running():
        run = await ended(asked)
    assert (run.state, run.version_id) == (State.DONE, model.runs_id)

    def taken_along() -> tuple[str, str]:
        versions.set_approval(model, needed=False, actor=people.administrator)
        assert look(NEW).sha256 == NEW
        document = export.document(asked.conversation)
        return document["messages"][1]["model"]["sha256"], transcripts.markdown(asked.conversation)

    sha256, markdown = await in_database(taken_along)()
    assert sha256 == OLD
    assert f"SHA-256 {OLD}" in markdown and NEW not in markdown


def test_of_an_answer_before_versions_were_kept_the_only_one_is_told(people: People) -> None:
    asked = factories.answered(people.alice, model=look(OLD))

    def told() -> str:
        return export.document(asked.conversation)["messages"][1]["model"]["sha256"]

    assert told() == OLD
    look(NEW)
    assert told() == "", "of two nobody knows which"


@pytest.fixture
def changed(starter_model: Path, tmp_path: Path) -> Path:
    """The starter model with a byte behind its end: another file, and as good a model."""
    changed = tmp_path / "changed"
    changed.write_bytes(starter_model.read_bytes() + b"\0")
    return changed


async def test_the_bundled_engine_refuses_another_file_than_was_approved(
    people: People, starter_model: Path, changed: Path, tmp_path: Path
) -> None:
    folder = Path(urlsplit(configured.ENGINE_URL).path).parent
    file = tmp_path / "small.gguf"
    file.symlink_to(starter_model)
    options = ("--models", tmp_path, "--slots", "1", "--context", "256")
    with running_host(folder, *options) as host:
        engine = await host.engine()

        async def card(*, other_than: str | None) -> ModelCard:
            while True:
                [found] = await engine.models()
                if found.sha256 not in (None, other_than):
                    return found

        async def last_word(sha256: str | None) -> object:
            asked = (Turn("user", "Hello"),)
            request = Request("small", asked, Sampling(max_tokens=4), model_sha256=sha256)
            return [event async for event in engine.stream(request)][-1]

        def refreshed() -> LanguageModel:
            catalogue.refresh(connections.bundled(), [before])
            return LanguageModel.objects.select_related("engine").get()

        before = await card(other_than=None)
        model = await in_database(refreshed)()
        assert not isinstance(await last_word(before.sha256), Failed)
        await asyncio.to_thread(changed.replace, file)
        after = await card(other_than=before.sha256)
        refused = await last_word(before.sha256)
        assert refused == Failed(ANY) and isinstance(refused.error, ModelChanged)
        assert not isinstance(await last_word(after.sha256), Failed)
        async with running():
            held = await in_database(factories.asked)(people.alice, model=model)
            assert (await ended(held)).reason in ("held", "model_changed")

            def approve() -> None:
                before = LanguageModel.objects.get()
                found = before.versions.get(sha256=after.sha256)
                versions.approve(found, instead_of=before.runs_id, actor=people.administrator)

            await in_database(approve)()
            asked = await in_database(factories.asked)(people.bob, "Hello", model=model)
            run = await ended(asked)
            assert run.state == State.DONE
            assert (await in_database(lambda: run.version.sha256)()) == after.sha256
        await engine.aclose()
