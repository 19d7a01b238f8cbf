"""What is laid over another model never opens that one: each path asks for the rights on both."""

from __future__ import annotations

from uuid import uuid4

import pytest

from accounts.models import Group
from chat.domain import prompts, rights, titles
from chat.models import Generation, LanguageModel
from chat.temporary import accepting
from tests import factories
from tests.people import People, browser

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def quick() -> LanguageModel:
    return factories.language_model()


@pytest.fixture
def base(quick: LanguageModel) -> LanguageModel:
    """For the ward alone: alice is of it, mallory is not."""
    model = factories.language_model("base")
    shut(model)
    return model


@pytest.fixture
def adapter(base: LanguageModel) -> LanguageModel:
    """Laid over it, and open to everybody as far as its own row says."""
    model = factories.language_model("adapter")
    LanguageModel.objects.filter(pk=model.pk).update(parent="base")
    model.refresh_from_db()
    return model


def shut(model: LanguageModel) -> None:
    LanguageModel.objects.filter(pk=model.pk).update(restricted=True)
    model.groups.set(Group.objects.all())


def test_who_may_use_both_has_it_and_nobody_else(people: People, adapter: LanguageModel) -> None:
    assert rights.may_use(people.alice.pk, adapter)
    assert adapter in rights.offered_to(people.alice)
    assert not rights.may_use(people.mallory.pk, adapter)
    assert adapter not in rights.offered_to(people.mallory)
    assert "adapter" not in browser(people.mallory).get("/").content.decode()
    # It opens with its base, whatever file that one runs by now.
    LanguageModel.objects.filter(name="base").update(name="renamed", runs_name="base")
    assert not rights.may_use(people.mallory.pk, adapter)
    LanguageModel.objects.filter(name="renamed").update(restricted=False)
    assert rights.may_use(people.mallory.pk, adapter)
    # Its own rights count too.
    shut(adapter)
    adapter.refresh_from_db()
    assert rights.may_use(people.alice.pk, adapter)
    assert not rights.may_use(people.mallory.pk, adapter)


def test_no_path_leads_around_it(
    people: People, quick: LanguageModel, adapter: LanguageModel
) -> None:
    client, told = browser(people.mallory), {"language_model": str(adapter.pk)}
    asked = factories.answered(people.mallory, model=quick)
    question = {"text": "Hello", "message_id": str(uuid4())}
    assert client.post("/conversations/", told | question).status_code == 422
    again = f"/answers/{asked.answer.pk}/regenerate/"
    assert client.post(again, told | {"message_id": str(uuid4())}).status_code == 422
    client.post(f"/conversations/{asked.conversation.pk}/model/", told)
    asked.conversation.refresh_from_db()
    assert asked.conversation.language_model == quick
    assert Generation.objects.count() == 1
    with pytest.raises(accepting.Refused):
        accepting.check(people.mallory, adapter)


def test_what_is_under_way_ends_when_the_base_is_shut(
    people: People, base: LanguageModel, adapter: LanguageModel
) -> None:
    asked = factories.asked(people.alice, model=adapter)
    run = factories.claimed()
    assert titles.build(asked.conversation) is not None
    base.groups.clear()
    with pytest.raises(rights.NotAllowed):
        prompts.build(run)
    assert titles.build(asked.conversation) is None


def test_an_engine_that_serves_for_another_opens_nothing_of_its_own(
    people: People, quick: LanguageModel, base: LanguageModel
) -> None:
    LanguageModel.objects.filter(pk=base.pk).update(serves_for=quick)
    base.refresh_from_db()
    assert not rights.may_use(people.alice.pk, base)
    assert not rights.may_use(people.mallory.pk, base)
