"""The life of one run: claimed, written, ended, stopped, retried, given back."""

from __future__ import annotations

from datetime import timedelta
from uuid import uuid4

import pytest
from django.utils import timezone

from accounts.models import AuditEntry
from chat.domain import answers, generations, paths, rewriting
from chat.domain.generations import End, Ending, Growth
from chat.models import Chunk, Generation, Message
from engine_adapter.types import Usage
from tests import factories
from tests.people import People

pytestmark = pytest.mark.django_db

State = Generation.State
FIRST, SECOND = uuid4(), uuid4()


def expire(generation: Generation) -> None:
    """As if its runner had not been heard of for a second longer than its lease."""
    Generation.objects.filter(pk=generation.pk).update(
        lease_until=timezone.now() - timedelta(seconds=1)
    )


def test_runs_are_claimed_in_the_order_they_came(people: People) -> None:
    asked = [factories.asked(people.alice, f"Question {n}") for n in range(5)]
    assert [a.ahead for a in asked] == [0, 1, 2, 3, 4]
    first = generations.claim(FIRST, limit=2)
    rest = generations.claim(SECOND, limit=10)
    assert [g.message_id for g in first + rest] == [a.answer.pk for a in asked]
    assert {g.state for g in first + rest} == {State.RUNNING}
    assert {g.attempt for g in first + rest} == {1}
    assert {g.runner for g in first} == {FIRST}
    assert generations.claim(FIRST, limit=10) == []


def test_a_live_lease_is_nobody_elses(people: People) -> None:
    factories.asked(people.alice)
    [mine] = generations.claim(FIRST, limit=1)
    assert generations.claim(SECOND, limit=1) == []
    assert generations.renew(SECOND, [mine.pk]) == {}
    assert generations.renew(FIRST, [mine.pk]) == {mine.pk: False}


def test_an_expired_lease_goes_to_another_who_reads_what_is_stored(people: People) -> None:
    asked = factories.asked(people.alice)
    [old] = generations.claim(FIRST, limit=1)
    factories.write(old, "Once ", "upon ")
    expire(old)
    [new] = generations.claim(SECOND, limit=1)
    assert (new.pk, new.runner, new.attempt) == (old.pk, SECOND, 2)
    assert new.started_at == old.started_at
    assert generations.chunks_after(new.pk) == [(1, "Once "), (2, "upon ")]
    assert answers.one(asked.answer).text == "Once upon "

    # The one who was thought dead comes back and finds the door closed.
    late = Growth(old.pk, old.attempt, 3, "a lie")
    assert generations.append(FIRST, [late]) == set()
    assert generations.renew(FIRST, [old.pk]) == {}
    assert not generations.finish(FIRST, [Ending(old.pk, 1, End(State.DONE))])
    assert answers.one(asked.answer).text == "Once upon "

    factories.write(new, "a time.", since=2)
    factories.end(new)
    assert Message.objects.get(pk=asked.answer.pk).text == "Once upon a time."


def test_the_same_runner_fences_itself_off_too(people: People) -> None:
    asked = factories.asked(people.alice)
    [old] = generations.claim(FIRST, limit=1)
    expire(old)
    [new] = generations.claim(FIRST, limit=1)
    assert generations.append(FIRST, [Growth(old.pk, old.attempt, 1, "twice")]) == set()
    assert generations.append(FIRST, [Growth(new.pk, new.attempt, 1, "once")]) == {new.pk}
    assert answers.one(asked.answer).text == "once"


def test_a_run_that_its_runner_forgot_is_claimed_again(people: People) -> None:
    """A claim was committed, but its confirmation was lost on the way."""
    factories.asked(people.alice)
    [forgotten] = generations.claim(FIRST, limit=1)
    expire(forgotten)
    assert generations.renew(FIRST, []) == {}
    [again] = generations.claim(FIRST, limit=1)
    assert (again.pk, again.attempt) == (forgotten.pk, 2)


def test_one_tick_writes_for_all_and_says_who_took_it(people: People) -> None:
    asked = [factories.asked(person) for person in (people.alice, people.bob)]
    [a, b] = generations.claim(FIRST, limit=2)
    growths = [Growth(a.pk, 1, 1, "A"), Growth(b.pk, 1, 1, "B"), Growth(uuid4(), 1, 1, "C")]
    assert generations.append(FIRST, growths) == {a.pk, b.pk}
    assert [answers.one(each.answer).text for each in asked] == ["A", "B"]
    assert Chunk.objects.count() == 2


def test_a_tick_that_comes_twice_replaces_itself(people: People) -> None:
    asked = factories.asked(people.alice)
    [run] = generations.claim(FIRST, limit=1)
    generations.append(FIRST, [Growth(run.pk, 1, 1, "Once ")])
    generations.append(FIRST, [Growth(run.pk, 1, 1, "Once upon ")])
    generations.append(FIRST, [Growth(run.pk, 1, 2, "a time")])
    assert answers.one(asked.answer).text == "Once upon a time"
    assert answers.one(asked.answer).seq == 2


def test_the_end_moves_the_text_in_order_and_happens_once(people: People) -> None:
    asked = factories.asked(people.alice)
    [run] = generations.claim(FIRST, limit=1)
    words = [f"{n} " for n in range(30)]
    factories.write(run, *words)
    first_text_at = timezone.now()
    how = End(State.DONE, "length", usage=Usage(7, 30, 2), first_text_at=first_text_at)
    assert generations.finish(FIRST, [Ending(run.pk, 1, how)]) == {run.pk}
    assert not generations.finish(FIRST, [Ending(run.pk, 1, End(State.FAILED))])
    assert generations.append(FIRST, [Growth(run.pk, 1, 31, "late")]) == set()

    run.refresh_from_db()
    assert (run.state, run.reason, run.lease_until) == (State.DONE, "length", None)
    assert (run.prompt_tokens, run.completion_tokens, run.cached_tokens) == (7, 30, 2)
    assert run.first_text_at == first_text_at
    assert run.created_at <= run.started_at <= run.ended_at
    assert Message.objects.get(pk=asked.answer.pk).text == "".join(words)
    assert not Chunk.objects.exists()
    assert generations.claim(SECOND, limit=1) == []


def test_an_end_without_text_is_an_end(people: People) -> None:
    asked = factories.asked(people.alice)
    [run] = generations.claim(FIRST, limit=1)
    how = End(State.FAILED, "unreachable", {"n": 1})
    assert generations.finish(FIRST, [Ending(run.pk, 1, how)]) == {run.pk}
    reading = answers.one(Message.objects.get(pk=asked.answer.pk))
    assert (reading.text, reading.generation.reason) == ("", "unreachable")
    assert reading.generation.facts == {"n": 1}


def test_a_runner_that_leaves_gives_back_what_it_has(people: People) -> None:
    asked = factories.asked(people.alice)
    factories.asked(people.bob)
    [mine] = generations.claim(FIRST, limit=1)
    [other] = generations.claim(SECOND, limit=1)
    factories.write(mine, "Half")
    generations.release(FIRST)
    mine.refresh_from_db()
    other.refresh_from_db()
    assert (mine.state, mine.runner) == (State.QUEUED, None)
    assert (other.state, other.runner) == (State.RUNNING, SECOND)
    assert answers.one(asked.answer).text == "Half"
    [again] = generations.claim(SECOND, limit=1)
    assert (again.pk, again.attempt) == (mine.pk, 2)


def test_stopping_one_that_waits_ends_it_at_once(people: People) -> None:
    asked = factories.asked(people.alice)
    assert generations.stop(asked.answer, actor=people.alice)
    assert Generation.objects.get().state == State.STOPPED
    assert Generation.objects.get().ended_at is not None
    assert generations.claim(FIRST, limit=1) == []
    assert not generations.stop(asked.answer, actor=people.alice)
    entry = AuditEntry.objects.get(verb="answer.stopped")
    assert entry.object_id == str(asked.answer.pk)


def test_stopping_one_that_was_given_back_keeps_its_text(people: People) -> None:
    asked = factories.asked(people.alice)
    [run] = generations.claim(FIRST, limit=1)
    factories.write(run, "Half")
    generations.release(FIRST)
    assert generations.stop(asked.answer, actor=people.alice)
    assert Message.objects.get(pk=asked.answer.pk).text == "Half"
    assert not Chunk.objects.exists()


def test_stopping_one_that_is_written_asks_its_runner(people: People) -> None:
    asked = factories.asked(people.alice)
    [run] = generations.claim(FIRST, limit=1)
    assert generations.stop(asked.answer, actor=people.alice)
    run.refresh_from_db()
    assert run.state == State.RUNNING
    assert generations.renew(FIRST, [run.pk]) == {run.pk: True}
    assert generations.append(FIRST, [Growth(run.pk, 1, 1, "last words")]) == {run.pk}


@pytest.mark.parametrize("state", [State.FAILED, State.INTERRUPTED, State.STOPPED])
def test_retry_goes_on_from_the_text(people: People, state: str) -> None:
    asked = factories.answered(people.alice, answer="Half of", state=state)
    assert rewriting.retry(asked.answer, actor=people.alice) == asked.answer
    run = factories.claimed()
    assert run.message_id == asked.answer.pk
    factories.write(run, " it.")
    factories.end(run)
    assert Message.objects.get(pk=asked.answer.pk).text == "Half of it."
    assert AuditEntry.objects.get(verb="answer.retried").object_id == str(asked.answer.pk)


def test_retry_writes_a_sibling_where_the_model_cannot_go_on(people: People) -> None:
    model = factories.language_model("rigid", continues=False)
    asked = factories.asked(people.alice, model=model)
    run = factories.claimed()
    factories.write(run, "Half of")
    factories.end(run, State.INTERRUPTED)
    sibling = rewriting.retry(asked.answer, actor=people.alice)
    assert sibling != asked.answer
    assert (sibling.parent, sibling.text) == (asked.question, "")
    assert Message.objects.get(pk=asked.answer.pk).text == "Half of"
    shown = [reading.message for reading in paths.newest(asked.conversation).readings]
    assert shown == [asked.question, sibling]


def test_retry_leaves_what_is_done_or_being_written(people: People) -> None:
    done = factories.answered(people.alice)
    running = factories.asked(people.alice)
    assert rewriting.retry(done.answer, actor=people.alice) == done.answer
    assert rewriting.retry(running.answer, actor=people.alice) == running.answer
    assert Generation.objects.count() == 2
    assert not AuditEntry.objects.filter(verb="answer.retried").exists()


def test_deleting_the_conversation_ends_the_run(people: People) -> None:
    asked = factories.asked(people.alice)
    [run] = generations.claim(FIRST, limit=1)
    factories.write(run, "Half")
    asked.conversation.delete()
    assert generations.append(FIRST, [Growth(run.pk, 1, 2, "more")]) == set()
    assert generations.renew(FIRST, [run.pk]) == {}
    assert not generations.finish(FIRST, [Ending(run.pk, 1, End(State.DONE))])
