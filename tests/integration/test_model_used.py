"""Who used a model when, as far as it tells of nobody; and what administrators did with it."""

from __future__ import annotations

import pytest
from django.urls import reverse

from accounts.domain import audit
from accounts.models import AuditEntry, Group, User
from chat.domain import catalogue, used
from chat.models import LanguageModel
from engine_adapter.types import Usage
from tests import factories
from tests.people import People, browser, person

pytestmark = pytest.mark.django_db

ZONE = "Europe/Istanbul"


@pytest.fixture
def model(people: People) -> LanguageModel:
    """Alice asked it twice, bob once; nobody asked the other one."""
    model = factories.language_model()
    factories.language_model("other")
    for who in (people.alice, people.alice, people.bob):
        factories.answered(who, "A secret question", model=model, usage=Usage(100, 20))
    return model


def ward(*more: User) -> Group:
    ward = Group.objects.get()
    ward.people.add(*more)
    return ward


def test_days_are_counted_and_few_people_are_not(people: People, model: LanguageModel) -> None:
    [day] = used.lately(model, zone=ZONE).days
    assert (day.answers, day.people, day.read_tokens, day.written_tokens) == (3, 2, 300, 60)
    assert not day.may_count_people
    page = browser(people.administrator).get(reverse("chat:model_history", args=[model.pk]))
    assert "under 5" in page.content.decode()
    for n in range(3):
        factories.answered(person(f"Nurse{n}"), model=model)
    [day] = used.lately(model, zone=ZONE).days
    assert (day.people, day.may_count_people) == (5, True)


def test_small_groups_are_not_shown(people: People, model: LanguageModel) -> None:
    carol, dan, erin = (person(name) for name in ("Carol", "Dan", "Erin"))
    ward(carol, dan, erin)
    for who in (carol, dan):
        factories.answered(who, model=model)
    assert used.lately(model, zone=ZONE).groups == [], "only four of them asked"
    factories.answered(erin, model=model)
    [group] = used.lately(model, zone=ZONE).groups
    assert (group.label, group.answers, group.people) == ("Ward 3", 6, 5)


def test_one_that_nobody_asked_was_never_used(people: People, model: LanguageModel) -> None:
    other = LanguageModel.objects.get(name="other")
    assert used.lately(other, zone=ZONE) == used.Used(None, [], [])
    assert used.lately(model, zone=ZONE).last_at is not None


def test_the_history_names_administrators_and_nobody_who_asked(
    people: People, model: LanguageModel
) -> None:
    audit.record("temporary_chat.begun", actor=people.mallory, about=model)
    catalogue.note_move(model, load=True, actor=people.administrator)
    catalogue.note_move(LanguageModel.objects.get(name="other"), load=True, actor=people.bob)
    [act] = used.history(model, actor=people.administrator)
    assert (str(act.said), act.who) == ("Loaded into memory", "Ada")
    read = AuditEntry.objects.get(verb="ledger.read")
    assert (read.actor_id, read.object_id) == (people.administrator.pk, str(model.pk))
    page = browser(people.administrator).get(reverse("chat:model_history", args=[model.pk]))
    shown = page.content.decode()
    assert "Loaded into memory" in shown
    for untold in ("Mallory", "Alice", "Bob", "A secret question"):
        assert untold not in shown
