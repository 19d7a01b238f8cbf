"""Answers written anew and answers written on: whose text stands, and how long it may become."""

from __future__ import annotations

from uuid import uuid4

import pytest
from django.urls import reverse

from accounts.models import AuditEntry
from chat.domain import allowance, paths, prompts, rewriting
from chat.models import Generation, LanguageModel, Message
from tests import factories
from tests.people import People, browser

pytestmark = pytest.mark.django_db

HTMX = {"HX-Request": "true"}
State = Generation.State
CUT = {"state": State.DONE, "reason": "length"}


def regenerate(people: People, answer: Message, **form: object):
    url = reverse("chat:regenerate", args=[answer.pk])
    return browser(people.alice).post(url, {"message_id": uuid4(), **form}, headers=HTMX)


def request_for(run: Generation) -> prompts.Request:
    return prompts.build(run).request


def test_an_answer_written_anew_stands_beside_the_old_one(people: People) -> None:
    asked = factories.answered(people.alice, answer="The first")
    new = uuid4()
    response = regenerate(people, asked.answer, message_id=new)
    sibling = Message.objects.get(pk=new)
    assert (sibling.parent, sibling.text, sibling.role) == (asked.question, "", "assistant")
    assert sibling.language_model == asked.answer.language_model
    assert Message.objects.get(pk=asked.answer.pk).text == "The first"
    assert paths.newest(asked.conversation).leaf == sibling
    assert ">2/2<" in response.content.decode()
    entry = AuditEntry.objects.get(verb="answer.regenerated")
    assert entry.object_id == str(new)
    assert entry.facts["instead_of"] == str(asked.answer.pk)
    run = factories.claimed()
    assert [turn.content for turn in request_for(run).turns] == [asked.question.text]


def test_another_model_writes_it_when_the_person_says_so(people: People) -> None:
    asked = factories.answered(people.alice)
    other = factories.language_model("other")
    regenerate(people, asked.answer, language_model=other.pk)
    sibling = paths.newest(asked.conversation).leaf
    assert sibling and sibling.language_model == other
    asked.conversation.refresh_from_db()
    assert asked.conversation.language_model != other  # nobody asked to change that
    factories.end(factories.claimed())
    LanguageModel.objects.filter(pk=other.pk).update(available=False)
    refused = regenerate(people, asked.answer, language_model=other.pk)
    assert refused.status_code == 422
    assert "This model is not available any more." in refused.content.decode()
    # Without a choice the one that is gone is replaced by the conversation's.
    regenerate(people, sibling)
    newest = paths.newest(asked.conversation).leaf
    assert newest and newest.language_model == asked.conversation.language_model


def test_the_same_post_twice_is_one_new_answer(people: People) -> None:
    asked = factories.answered(people.alice)
    form = {"message_id": uuid4()}
    first, again = (regenerate(people, asked.answer, **form) for _ in range(2))
    assert first.headers["HX-Replace-Url"] == again.headers["HX-Replace-Url"]
    assert Message.objects.count() == 3 and Generation.objects.count() == 2
    assert AuditEntry.objects.filter(verb="answer.regenerated").count() == 1


def test_an_answer_that_is_being_written_is_not_written_twice(people: People) -> None:
    asked = factories.asked(people.alice)
    response = regenerate(people, asked.answer)
    assert f'id="m-{asked.answer.pk}"' in response.content.decode()
    assert Message.objects.count() == 2 and Generation.objects.count() == 1


@pytest.mark.parametrize(
    "how", [CUT, {"state": State.STOPPED}, {"state": State.INTERRUPTED, "reason": "broken"}]
)
def test_an_answer_that_ended_before_its_end_is_written_on(
    people: People, how: dict[str, str]
) -> None:
    asked = factories.answered(people.alice, answer="Half of", **how)
    url = reverse("chat:retry", args=[asked.answer.pk])
    page = browser(people.alice).get(reverse("chat:conversation", args=[asked.conversation.pk]))
    assert f'action="{url}"' in page.content.decode() and "Continue" in page.content.decode()
    browser(people.alice).post(url, headers=HTMX)
    run = factories.claimed()
    request = request_for(run)
    assert run.message_id == asked.answer.pk
    assert request.continue_final and request.turns[-1].content == "Half of"
    factories.write(run, " it.")
    factories.end(run)
    assert Message.objects.get(pk=asked.answer.pk).text == "Half of it."
    assert Message.objects.count() == 2


def test_a_complete_answer_is_not_written_on(people: People) -> None:
    asked = factories.answered(people.alice)
    assert rewriting.retry(asked.answer, actor=people.alice) == asked.answer
    assert Generation.objects.count() == 1


def test_an_answer_that_was_gone_on_from_keeps_its_text(people: People) -> None:
    """Continue from a page that is behind: what came after was said after the half answer."""
    asked = factories.answered(people.alice, answer="Half of", state=State.STOPPED)
    factories.answered(people.alice, "And then?", "Nothing.", conversation=asked.conversation)
    sibling = rewriting.retry(asked.answer, actor=people.alice)
    assert (sibling.parent, sibling.text) == (asked.question, "Half of")
    run = factories.claimed()
    assert (run.message_id, request_for(run).turns[-1].content) == (sibling.pk, "Half of")
    factories.write(run, " it.")
    factories.end(run)
    assert Message.objects.get(pk=sibling.pk).text == "Half of it."
    assert Message.objects.get(pk=asked.answer.pk).text == "Half of"


def test_where_the_model_cannot_go_on_a_second_click_is_no_second_answer(people: People) -> None:
    model = factories.language_model("rigid", continues=False)
    asked = factories.asked(people.alice, model=model)
    run = factories.claimed()
    factories.write(run, "Half")
    factories.end(run, State.INTERRUPTED)
    url, form = reverse("chat:retry", args=[asked.answer.pk]), {"message_id": uuid4()}
    for _ in range(2):
        body = browser(people.alice).post(url, form, headers=HTMX).content.decode()
        assert f'id="m-{form["message_id"]}"' in body
    assert asked.question.children.count() == 2
    assert Message.objects.get(pk=form["message_id"]).text == ""
    page = browser(people.alice).get(
        reverse("chat:conversation", args=[asked.conversation.pk]) + f"?at={asked.answer.pk}"
    )
    assert ">Retry<" in "".join(page.content.decode().split())


def test_one_run_has_one_allowance_however_often_it_is_taken_over(
    people: People, settings: object
) -> None:
    settings.ANSWER_MAX_TOKENS = 100
    factories.asked(people.alice)
    run = factories.claimed()
    assert request_for(run).sampling.max_tokens == 100
    factories.write(run, "word" * 60)
    assert request_for(run).sampling.max_tokens == 40
    factories.write(run, "word" * 60, since=1)
    assert request_for(run).sampling.max_tokens == 1


def test_going_on_ends_some_time(people: People, settings: object) -> None:
    settings.ANSWER_MAX_TOKENS = 100
    asked = factories.answered(people.alice, answer="word" * 100, **CUT)
    granted = []
    while True:
        answer = rewriting.retry(asked.answer, actor=people.alice)
        if not answer.generations.filter(state=State.QUEUED).exists():
            break
        run = factories.claimed()
        granted.append(request_for(run).sampling.max_tokens)
        factories.write(run, "word" * granted[-1])
        factories.end(run, **CUT)
    assert granted == [100] * (allowance.RUNS - 1)
    page = browser(people.alice).get(reverse("chat:conversation", args=[asked.conversation.pk]))
    assert "reached the greatest length" in page.content.decode()
    assert "Continue" not in page.content.decode()


def test_two_questions_in_a_row_are_one_turn(people: People) -> None:
    """An answer that was never written leaves them; many templates refuse that."""
    first = factories.answered(people.alice, "Are you there?", "", state=State.FAILED)
    factories.asked(people.alice, "Hello?", conversation=first.conversation)
    turns = request_for(factories.claimed()).turns
    assert [(turn.role, turn.content) for turn in turns] == [("user", "Are you there?\n\nHello?")]


def test_of_a_conversation_that_no_model_could_read_only_a_part_is_loaded(people: People) -> None:
    first = factories.answered(people.alice, "oldest " * 100, "answer " * 100)
    model = first.answer.language_model
    assert model
    for _ in range(4):
        factories.answered(
            people.alice, "question " * 100, "answer " * 100, conversation=first.conversation
        )
    last = factories.asked(people.alice, "And now?", conversation=first.conversation)
    run = factories.claimed()
    assert run.message_id == last.answer.pk
    for context, turns in ((None, 11), (100_000, 11), (100, 3)):
        LanguageModel.objects.filter(pk=model.pk).update(context_length=context)
        run.message.language_model.context_length = context
        request = request_for(run)
        assert len(request.turns) == turns
        # Enough for the engine to see that it is too much.
        assert context is None or turns == 11 or sum(len(t.content) for t in request.turns) > 1600
