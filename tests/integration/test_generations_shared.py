"""Several runners on one PostgreSQL: never two owners, never a word lost or doubled."""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import partial
from uuid import UUID, uuid4

import psycopg
import pytest
from django.db import connection, connections, transaction

from chat.domain import answers, generations, rewriting
from chat.domain.generations import End, Ending, Growth
from chat.models import Chunk, Generation, Message
from tests import factories
from tests.people import People

pytestmark = pytest.mark.django_db(transaction=True)

State = Generation.State


def at_once(*works: Callable[[], object]) -> list[object]:
    """Run all of them in threads that start together; their results in order."""
    gate, results = threading.Barrier(len(works)), [None] * len(works)

    def run(place: int, work: Callable[[], object]) -> None:
        gate.wait()
        try:
            results[place] = work()
        except Exception as error:
            results[place] = error
        finally:
            connections.close_all()

    threads = [threading.Thread(target=run, args=pair) for pair in enumerate(works)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    errors = [result for result in results if isinstance(result, Exception)]
    assert not errors, errors
    return results


def expire_all() -> None:
    with connection.cursor() as cursor:
        cursor.execute("UPDATE chat_generation SET lease_until = now() - interval '1 second'")


def texts_of(answer: Message) -> set[str]:
    """What somebody reads who looks twenty times, each time at the row as it was before."""
    return {answers.one(answer).text for _ in range(20)}


def test_two_runners_never_own_the_same_run(people: People) -> None:
    for n in range(30):
        factories.asked(people.alice, f"Question {n}")
    owned: dict[UUID, UUID] = {}
    for attempt in (1, 2, 3):
        runners = [uuid4() for _ in range(4)]
        shares = at_once(*(partial(generations.claim, runner, limit=20) for runner in runners))
        taken = [run.pk for share in shares for run in share]
        assert len(taken) == len(set(taken)) == 30
        owned = {run.pk: r for r, share in zip(runners, shares, strict=True) for run in share}
        assert dict(Generation.objects.values_list("pk", "runner")) == owned
        assert set(Generation.objects.values_list("attempt", flat=True)) == {attempt}
        expire_all()


def test_a_claim_passes_by_what_another_is_just_taking(people: People) -> None:
    first, second = factories.asked(people.alice), factories.asked(people.bob)
    with transaction.atomic():
        [mine] = generations.claim(uuid4(), limit=1)
        [[other]] = at_once(partial(generations.claim, uuid4(), limit=2))
    assert mine.message_id == first.answer.pk
    assert other.message_id == second.answer.pk


def test_a_tick_and_a_take_over_come_one_after_the_other(people: People) -> None:
    """Whoever is first, the text that the new owner reads is the text that stays."""
    asked = factories.asked(people.alice)
    old, new = uuid4(), uuid4()
    [run] = generations.claim(old, limit=1)
    for turn in range(20):
        expire_all()
        growth = Growth(run.pk, run.attempt, 1, f"turn {turn}")
        took, claimed = at_once(
            partial(generations.append, old, [growth]), partial(generations.claim, new, limit=1)
        )
        seen = generations.chunks_after(run.pk)
        if claimed:
            assert generations.append(old, [Growth(run.pk, run.attempt, 2, "late")]) == set()
            assert generations.chunks_after(run.pk) == seen
            [run] = claimed
            old, new = new, old
        else:  # the tick held the row, so that the claim passed it by
            assert took == {run.pk}
    assert answers.one(asked.answer).text.startswith("turn ")


def test_a_take_over_waits_for_a_tick_that_has_begun(people: People) -> None:
    factories.asked(people.alice)
    old, new = uuid4(), uuid4()
    [run] = generations.claim(old, limit=1)
    expire_all()
    with transaction.atomic():
        assert generations.append(old, [Growth(run.pk, 1, 1, "begun")]) == {run.pk}
        [passed] = at_once(partial(generations.claim, new, limit=1))
        assert passed == []
    [taken] = generations.claim(new, limit=1)
    assert generations.chunks_after(taken.pk) == [(1, "begun")]


def test_many_ends_at_once_are_one_end(people: People) -> None:
    asked = factories.asked(people.alice)
    runner = uuid4()
    [run] = generations.claim(runner, limit=1)
    factories.write(run, "The ", "end.")
    states = (State.DONE, State.FAILED, State.STOPPED, State.INTERRUPTED)
    ended = at_once(
        *(partial(generations.finish, runner, [Ending(run.pk, 1, End(state))]) for state in states)
    )
    assert sorted(ended, key=len) == [set(), set(), set(), {run.pk}]
    assert Generation.objects.get().state == states[ended.index({run.pk})]
    assert Message.objects.get(pk=asked.answer.pk).text == "The end."


def test_a_stop_and_a_claim_leave_no_run_that_nobody_ends(people: People) -> None:
    for _ in range(10):
        asked, runner = factories.asked(people.alice), uuid4()
        stopped, claimed = at_once(
            partial(generations.stop, asked.answer, actor=people.alice),
            partial(generations.claim, runner, limit=1),
        )
        assert stopped
        run = asked.answer.generations.get()
        if claimed:
            assert run.state == State.RUNNING
            assert generations.renew(runner, [run.pk]) == {run.pk: True}
            assert generations.finish(runner, [Ending(run.pk, 1, End(State.STOPPED))])
        else:
            assert run.state == State.STOPPED


def test_two_retries_at_once_are_one_run(people: People) -> None:
    asked = factories.answered(people.alice, state=State.INTERRUPTED)
    at_once(*[partial(rewriting.retry, asked.answer, actor=people.alice)] * 3)
    assert asked.answer.generations.filter(state__in=Generation.ACTIVE).count() == 1


def test_a_reader_never_sees_an_answer_between_running_and_ended(people: People) -> None:
    """Its chunks move into the message in one transaction; a reader sees before or after."""
    for _ in range(15):
        asked = factories.asked(people.alice, "Again")
        runner = uuid4()
        [run] = generations.claim(runner, limit=1)
        factories.write(run, "All ", "of ", "it.")
        end = partial(generations.finish, runner, [Ending(run.pk, 1, End(State.DONE))])
        seen, _ = at_once(partial(texts_of, asked.answer), end)
        assert seen == {"All of it."}
    assert not Chunk.objects.exists()


def test_the_bell_rings_with_the_commit_and_not_before(people: People) -> None:
    parameters = connection.get_connection_params()
    for name in ("pool", "cursor_factory", "context", "prepare_threshold"):
        parameters.pop(name, None)
    with psycopg.connect(**parameters, autocommit=True) as line:
        line.execute(f"LISTEN {generations.CHANNEL}")
        with transaction.atomic():
            asked = factories.asked(people.alice)
            assert not list(line.notifies(timeout=0.2))
        heard = [notice.payload for notice in line.notifies(timeout=5, stop_after=1)]
        assert heard == ["queued"]
        generations.claim(uuid4(), limit=1)
        generations.stop(asked.answer, actor=people.alice)
        heard = [notice.payload for notice in line.notifies(timeout=5, stop_after=1)]
        assert heard == ["stop"]
