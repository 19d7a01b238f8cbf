"""What a request carries beside its words: whose it is, without saying who, and how long it may
take."""

from __future__ import annotations

import runpy
from dataclasses import asdict

import pytest
from django.core.exceptions import ImproperlyConfigured

from chat.domain import prompts, titles
from engine_adapter.types import Request
from tests import factories
from tests.architecture import tree
from tests.people import People

pytestmark = pytest.mark.django_db


def request_of(asked: factories.messages.Asked) -> Request:
    generation = asked.answer.generations.get()
    return prompts.build(generation).request


def test_a_persons_conversations_count_as_one_and_anothers_apart(people: People) -> None:
    small, large = factories.language_model("small"), factories.language_model("large")
    requests = [
        request_of(factories.asked(person, model=model))
        for person, model in (
            (people.alice, small),
            (people.alice, large),
            (people.alice, small),
            (people.bob, small),
        )
    ]
    first, other_model, again, bobs = requests
    assert first.user == other_model.user == again.user != bobs.user
    assert first.cache_salt == again.cache_salt
    assert len({first.cache_salt, other_model.cache_salt, bobs.cache_salt}) == 3
    assert {r.user for r in requests}.isdisjoint({r.cache_salt for r in requests})
    assert {r.priority for r in requests} == {0}


def test_nobody_is_named_and_nobody_without_the_key_can_tell(
    people: People, settings: object
) -> None:
    asked = factories.asked(people.alice)
    before = request_of(asked)
    told = str(asdict(before))
    for name in (people.alice.pk, people.alice.email, people.alice.name):
        assert str(name) not in told
    settings.SECRET_KEY = "another"
    after = request_of(asked)
    assert before.user != after.user and before.cache_salt != after.cache_salt


def test_a_title_counts_against_its_owner_and_shares_only_the_instruction(people: People) -> None:
    asked = factories.answered(people.alice)
    title, answer = titles.build(asked.conversation), request_of(asked)
    assert (title.user, title.cache_salt) == (answer.user, answer.cache_salt)
    assert title.priority > answer.priority
    assert title.public_turns == 1 and title.turns[0].role == "system"
    assert asked.conversation.title not in title.turns[0].content
    assert answer.public_turns == 0
    assert title.deadline_s < answer.deadline_s


def test_an_answer_may_take_as_long_as_the_house_says(people: People, settings: object) -> None:
    settings.ANSWER_MAX_SECONDS = 77
    assert request_of(factories.asked(people.alice)).deadline_s == 77


@pytest.mark.parametrize("value", ["9", "soon", "-1", "1.5"])
def test_a_wrong_longest_time_refuses_to_start(value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    page = tree.CHECKOUT / "deploy" / "settings.py"
    monkeypatch.setenv("KONAK_ANSWER_MAX_SECONDS", "10")
    assert runpy.run_path(str(page))["ANSWER_MAX_SECONDS"] == 10
    monkeypatch.setenv("KONAK_ANSWER_MAX_SECONDS", value)
    with pytest.raises(ImproperlyConfigured, match="KONAK_ANSWER_MAX_SECONDS"):
        runpy.run_path(str(page))
