"""Who may use which model: asked on every path to an engine, not only in the list."""

from __future__ import annotations

from uuid import uuid4

import pytest

from accounts.models import Group
from chat.domain import catalogue, prompts, rewriting, rights, titles
from chat.domain.messages import Asked
from chat.models import Generation, LanguageModel, Message
from tests import factories
from tests.people import People, browser
from tests.scripts import SCRIPT, engine_host, in_database, running, until

pytestmark = pytest.mark.django_db(transaction=True)

Standing = LanguageModel.Standing


@pytest.fixture
def quick() -> LanguageModel:
    return factories.language_model()


@pytest.fixture
def guarded(quick: LanguageModel) -> LanguageModel:
    """A second model, for the ward alone: alice and bob are of it, mallory is not."""
    model = factories.language_model("guarded")
    model.restricted = True
    model.save()
    model.groups.set(Group.objects.all())
    return model


async def ended(asked: Asked) -> Generation:
    def look() -> Generation | None:
        run = asked.answer.generations.order_by("-created_at").first()
        return run if run and not run.is_active else None

    return await until(in_database(look))


def lock_out(model: LanguageModel) -> None:
    model.groups.clear()


def test_a_restricted_model_is_for_its_groups_alone(people: People, guarded: LanguageModel) -> None:
    assert guarded in rights.usable_by(people.alice)
    assert guarded not in rights.usable_by(people.mallory)
    assert not rights.may_use(people.mallory.pk, guarded)
    assert guarded.display_name not in browser(people.mallory).get("/").content.decode()
    assert guarded.display_name in browser(people.alice).get("/").content.decode()
    lock_out(guarded)
    assert not rights.may_use(people.alice.pk, guarded), "restricted to no group: for nobody"


def test_it_cannot_be_asked_by_naming_it(people: People, guarded: LanguageModel) -> None:
    client = browser(people.mallory)
    told = {"text": "Hello", "message_id": str(uuid4()), "language_model": str(guarded.pk)}
    assert client.post("/conversations/", told).status_code == 422
    assert not Generation.objects.exists()


def test_it_cannot_be_had_by_regenerating_with_it(
    people: People, quick: LanguageModel, guarded: LanguageModel
) -> None:
    asked = factories.answered(people.mallory, model=quick)
    address = f"/answers/{asked.answer.pk}/regenerate/"
    told = {"message_id": str(uuid4()), "language_model": str(guarded.pk)}
    assert browser(people.mallory).post(address, told).status_code == 422
    assert Generation.objects.count() == 1


def test_it_cannot_be_chosen_for_a_conversation(
    people: People, quick: LanguageModel, guarded: LanguageModel
) -> None:
    asked = factories.answered(people.mallory, model=quick)
    address = f"/conversations/{asked.conversation.pk}/model/"
    browser(people.mallory).post(address, {"language_model": str(guarded.pk)})
    asked.conversation.refresh_from_db()
    assert asked.conversation.language_model == quick


async def test_what_is_under_way_ends_before_the_engine_is_asked(
    people: People, guarded: LanguageModel
) -> None:
    asked = await in_database(factories.asked)(people.alice, model=guarded)
    await in_database(lock_out)(guarded)
    async with engine_host(SCRIPT) as engine, running():
        run = await ended(asked)
    assert (run.state, run.reason) == (Generation.State.FAILED, "not_allowed")
    assert engine.started == 0
    address = f"/conversations/{asked.conversation.pk}/"
    page = await in_database(lambda: browser(people.alice).get(address).content.decode())()
    assert "no longer there for you" in page
    assert "/retry/" not in page, "the same again would end the same"


def test_a_prompt_for_it_is_not_even_built(people: People, guarded: LanguageModel) -> None:
    factories.asked(people.alice, model=guarded)
    run = factories.claimed()
    lock_out(guarded)
    with pytest.raises(rights.NotAllowed):
        prompts.build(run)


def test_no_title_is_asked_of_it(people: People, guarded: LanguageModel) -> None:
    asked = factories.asked(people.alice, model=guarded)
    assert titles.build(asked.conversation) is not None
    lock_out(guarded)
    assert titles.build(asked.conversation) is None


def test_writing_again_turns_to_a_model_that_may_answer(
    people: People, quick: LanguageModel, guarded: LanguageModel
) -> None:
    asked = factories.answered(people.alice, model=quick)
    Message.objects.filter(pk=asked.answer.pk).update(language_model=guarded)
    lock_out(guarded)
    again = rewriting.regenerate(asked.answer, actor=people.alice, sibling_id=uuid4())
    assert again.language_model == quick


def test_a_hidden_model_stays_with_who_has_it(people: People, guarded: LanguageModel) -> None:
    asked = factories.asked(people.alice, model=guarded)
    LanguageModel.objects.filter(pk=guarded.pk).update(standing=Standing.HIDDEN)
    assert guarded not in rights.offered_to(people.alice)
    assert prompts.build(factories.claimed()).request.model == "guarded"
    page = browser(people.alice).get(f"/conversations/{asked.conversation.pk}/")
    assert "is not there any more" not in page.content.decode()


def test_a_conversation_whose_model_is_retired_opens_and_offers_the_next_one_there_is(
    people: People, quick: LanguageModel, guarded: LanguageModel
) -> None:
    asked = factories.answered(people.alice, model=guarded)
    between = factories.language_model("between")
    for model, successor in ((guarded, between), (between, quick)):
        LanguageModel.objects.filter(pk=model.pk).update(
            standing=Standing.RETIRED, successor=successor
        )
    address = f"/conversations/{asked.conversation.pk}/"
    page = browser(people.alice).get(address).content.decode()
    assert "guarded, the model of this conversation, is not there any more" in page
    assert f'value="{quick.pk}">Go on with scripted<' in page
    asked.conversation.refresh_from_db()
    assert asked.conversation.language_model == guarded, "never changed in silence"
    browser(people.alice).post(f"{address}model/", {"language_model": str(quick.pk)})
    assert "is not there any more" not in browser(people.alice).get(address).content.decode()


def test_successors_in_a_circle_lead_nowhere(people: People, guarded: LanguageModel) -> None:
    other = factories.language_model("other")
    LanguageModel.objects.update(standing=Standing.RETIRED)
    LanguageModel.objects.filter(pk=guarded.pk).update(successor=other)
    LanguageModel.objects.filter(pk=other.pk).update(successor=guarded)
    guarded.refresh_from_db()
    assert rights.successor_of(guarded, people.alice) is None


def test_a_model_that_joins_takes_nobodys_place(people: People, quick: LanguageModel) -> None:
    factories.language_model("aardvark")
    assert catalogue.default_for(people.alice) == quick
    placed = factories.language_model("placed")
    LanguageModel.objects.filter(pk=placed.pk).update(place=quick.place - 1)
    assert catalogue.default_for(people.alice) == placed, "an administrator said so"


def test_a_new_chat_begins_with_the_group_s_model_then_with_the_house_s(
    people: People, quick: LanguageModel, guarded: LanguageModel
) -> None:
    house = factories.language_model("zebra")
    LanguageModel.objects.filter(pk=house.pk).update(is_default=True)
    guarded.first_of.set(Group.objects.all())
    assert catalogue.default_for(people.alice) == guarded
    assert catalogue.default_for(people.mallory) == house
    factories.answered(people.alice)
    last = people.alice.conversations.get().language_model
    assert catalogue.default_for(people.alice) == last, "the one used last, before all"


def test_the_instruction_of_a_model_is_nobody_s_own(people: People, quick: LanguageModel) -> None:
    LanguageModel.objects.update(instruction="Answer in verse.", temperature=0.3, top_p=0.9)
    factories.asked(people.alice)
    request = prompts.build(factories.claimed()).request
    assert [(turn.role, turn.content) for turn in request.turns][:1] == [
        ("system", "Answer in verse.")
    ]
    assert request.public_turns == 1
    assert (request.sampling.temperature, request.sampling.top_p) == (0.3, 0.9)
