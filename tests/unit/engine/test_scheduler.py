"""The one rule: writers first, prompts share what is left, the line is kept in order."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine_adapter.bundled.pace import Reading
from engine_adapter.bundled.portion import Portion
from engine_adapter.bundled.scheduler import AGED_S, Scheduler
from engine_adapter.bundled.sequence import Sequence
from engine_adapter.bundled.slots import Slots
from engine_adapter.errors import Overloaded


def sequence(
    number: int, prompt: int, *, room: int = 4, priority: int = 0, user: str | None = None
) -> Sequence:
    user = f"user {number}" if user is None else user
    return Sequence(id=number, known=[1] * prompt, room=room, priority=priority, user=user)


def admit(scheduler: Scheduler, *, now: float = 0.0) -> None:
    """Give free lanes to those whose turn it is, as the loop does."""
    scheduler.order(now)
    for waiting in list(scheduler.waiting)[: scheduler.slots.free]:
        scheduler.slots.take(waiting, scheduler.slots.each_free()[0])
        scheduler.admit(waiting)


def set_aside(scheduler: Scheduler, victim: Sequence) -> None:
    scheduler.slots.release(victim)
    scheduler.set_aside(victim)


def finish(scheduler: Scheduler, done: Sequence) -> None:
    if done.slot is not None:
        scheduler.slots.release(done)
    scheduler.finish(done)


def step(scheduler: Scheduler, prompt_tokens: int) -> list[Portion]:
    """Plan and perform: all is computed, and who can writes a token."""
    admit(scheduler)
    portions = scheduler.plan(scheduler.writers(), prompt_tokens)
    for portion in portions:
        closes = portion.closes
        portion.sequence.computed += portion.count
        if closes:
            portion.sequence.known.append(1)
            scheduler.charge_written(portion.sequence)
    return portions


def shares(portions: list[Portion]) -> dict[int, int]:
    return {portion.sequence.id: portion.count for portion in portions}


def test_writers_come_first_and_prompts_share_what_is_left() -> None:
    scheduler = Scheduler(slots=4, queue=9)
    scheduler.submit(sequence(0, 1))
    step(scheduler, 0)
    for number, prompt in ((1, 300), (2, 5), (3, 300)):
        scheduler.submit(sequence(number, prompt))
    assert shares(step(scheduler, 145)) == {0: 1, 2: 5, 1: 70, 3: 70}


def test_long_prompts_take_turns_where_a_share_would_be_small() -> None:
    scheduler = Scheduler(slots=4, queue=9)
    for number, user in enumerate(["many", "many", "many", "one"]):
        scheduler.submit(sequence(number, 300, user=user))
    read = [next(iter(shares(step(scheduler, 100)))) for _ in range(6)]
    assert read == [0, 3, 1, 3, 2, 3]  # as many turns to the one as to the three


def test_who_is_more_urgent_reads_first() -> None:
    scheduler = Scheduler(slots=4, queue=9)
    scheduler.submit(sequence(0, 150, priority=5))
    scheduler.submit(sequence(1, 150))
    read = [shares(step(scheduler, 100)) for _ in range(3)]
    assert read == [{1: 100}, {1: 50, 0: 50}, {1: 1, 0: 100}]


def test_a_long_prompt_is_read_in_portions_that_follow_each_other() -> None:
    scheduler = Scheduler(slots=1, queue=9)
    scheduler.submit(sequence(0, 25))
    seen = []
    for _ in range(4):
        portions = step(scheduler, 10)
        seen += [(portion.start, portion.count) for portion in portions]
    assert seen == [(0, 10), (10, 10), (20, 5), (25, 1)]


def test_a_portion_ends_at_a_mark() -> None:
    scheduler = Scheduler(slots=1, queue=9)
    marked = sequence(0, 25)
    scheduler.submit(marked)
    admit(scheduler)
    marked.marks = [12]
    assert shares(step(scheduler, 20)) == {0: 12}


def test_the_line_is_kept_by_priority_then_arrival() -> None:
    scheduler = Scheduler(slots=1, queue=9)
    scheduler.submit(sequence(0, 3))
    admit(scheduler)
    for number, priority in ((1, 5), (2, 0), (3, 5), (4, -1)):
        scheduler.submit(sequence(number, 3, priority=priority))
    scheduler.order(0.0)
    assert [waiting.id for waiting in scheduler.waiting] == [4, 2, 1, 3]


def test_nobody_is_put_off_for_ever() -> None:
    scheduler = Scheduler(slots=1, queue=9)
    old, new = sequence(0, 3, priority=5), sequence(1, 3)
    new.arrived_at = AGED_S
    for waiting in (old, new):
        scheduler.submit(waiting)
    scheduler.order(AGED_S)
    assert scheduler.waiting == [new, old]
    scheduler.order(AGED_S + 1)
    assert scheduler.waiting == [old, new]


def test_ten_requests_of_one_user_wait_as_one() -> None:
    scheduler = Scheduler(slots=1, queue=20)
    for number in range(10):
        scheduler.submit(sequence(number, 3, user="many"))
    for number in (10, 11):
        scheduler.submit(sequence(number, 3))
    scheduler.order(0.0)
    assert [waiting.id for waiting in scheduler.waiting[:4]] == [0, 10, 11, 1]


def test_who_was_served_less_is_next() -> None:
    scheduler = Scheduler(slots=2, queue=9)
    for number, user in enumerate("aab"):
        scheduler.submit(sequence(number, 3, room=50, user=user))
    admit(scheduler)
    assert {running.user for running in scheduler.running} == {"a", "b"}
    for _ in range(5):
        step(scheduler, 9)
    done = next(running for running in scheduler.running if running.user == "b")
    scheduler.submit(sequence(3, 3, user="b"))
    finish(scheduler, done)
    scheduler.order(0.0)
    assert [waiting.user for waiting in scheduler.waiting] == ["a", "b"]


def test_who_comes_back_has_no_credit() -> None:
    scheduler = Scheduler(slots=1, queue=9)
    busy = sequence(0, 3, room=99, user="busy")
    scheduler.submit(busy)
    for _ in range(20):
        step(scheduler, 9)
    for number in range(1, 9):
        scheduler.submit(sequence(number, 3, user="back"))
    scheduler.submit(sequence(9, 3, user="busy"))
    scheduler.order(0.0)
    assert scheduler.waiting[1].user == "busy"


def test_lanes_are_given_up_for_the_more_urgent_and_for_who_has_less() -> None:
    scheduler = Scheduler(slots=4, queue=9)
    for number in range(3):
        scheduler.submit(sequence(number, 3, user="many"))
    scheduler.submit(sequence(3, 3, priority=9))
    admit(scheduler)
    urgent, equal = sequence(10, 3, priority=1), sequence(11, 3, priority=9)
    fair = sequence(12, 3, user="few")
    more = sequence(13, 3, user="many")
    displaced = [scheduler.displaced_by(newcomer) for newcomer in (urgent, equal, fair, more)]
    assert [one.id if one else None for one in displaced] == [3, None, 3, 3]
    finish(scheduler, scheduler.running[3])
    scheduler.submit(sequence(4, 3, user="many"))
    admit(scheduler)
    gone = scheduler.displaced_by(fair)
    assert gone is not None
    assert gone.id == 4, "the latest of who has more than a half"
    set_aside(scheduler, gone)
    scheduler.submit(fair)
    scheduler.slots.take(fair, scheduler.slots.each_free()[0])
    scheduler.admit(fair)
    assert scheduler.displaced_by(gone) is None


def test_while_others_read_a_crowd_of_one_user_takes_turns_in_writing() -> None:
    scheduler = Scheduler(slots=8, queue=9)
    for number in range(6):
        scheduler.submit(sequence(number, 1, room=50, user="many"))
    step(scheduler, 0)
    assert len(scheduler.writers()) == 6
    scheduler.submit(sequence(6, 40))
    served = [set(shares(step(scheduler, 10))) - {6} for _ in range(3)]
    assert [len(turn) for turn in served] == [4, 4, 4]
    assert served[0] | served[1] == set(range(6))


def test_a_full_line_refuses() -> None:
    scheduler = Scheduler(slots=2, queue=1)
    for number in range(3):
        scheduler.submit(sequence(number, 3))
    with pytest.raises(Overloaded):
        scheduler.submit(sequence(3, 3))
    finish(scheduler, scheduler.waiting[0])
    scheduler.submit(sequence(4, 3))


def test_a_slot_is_held_once_and_released_by_its_holder() -> None:
    slots = Slots(2)
    holder, stranger = sequence(0, 1), sequence(1, 1)
    slots.take(holder, 0)
    with pytest.raises(ValueError, match="holds slot"):
        slots.take(holder, 1)
    with pytest.raises(ValueError, match="not free"):
        slots.take(stranger, 0)
    stranger.slot = 0
    with pytest.raises(ValueError, match="does not hold"):
        slots.release(stranger)
    slots.check_integrity()
    holder.slot = None
    with pytest.raises(RuntimeError, match="out of balance"):
        slots.check_integrity()


@given(st.data())
def test_books_balance_and_nobody_starves(data: st.DataObject) -> None:
    scheduler = Scheduler(slots=data.draw(st.integers(1, 4)), queue=6)
    count = 0
    for _ in range(data.draw(st.integers(1, 25))):
        for _ in range(data.draw(st.integers(0, 3))):
            new = sequence(
                count,
                data.draw(st.integers(1, 40)),
                priority=data.draw(st.integers(-1, 1)),
                user=data.draw(st.sampled_from("abc")),
            )
            count += 1
            try:
                scheduler.submit(new)
            except Overloaded:
                assert len(scheduler.waiting) >= 6
        everyone = scheduler.running + scheduler.waiting
        if everyone and data.draw(st.booleans()):
            finish(scheduler, data.draw(st.sampled_from(everyone)))
        if scheduler.waiting and not scheduler.slots.free:
            gone = scheduler.displaced_by(scheduler.waiting[0])
            if gone is not None:
                set_aside(scheduler, gone)
        check_step(scheduler, data.draw(st.integers(1, 30)))
    left = len(scheduler.running) + len(scheduler.waiting)
    for _ in range(left * 100):
        check_step(scheduler, 1)
    assert not scheduler.running
    assert not scheduler.waiting


def check_step(scheduler: Scheduler, prompt_tokens: int) -> None:
    admit(scheduler)
    gaps = {running.id: running.gap for running in scheduler.running}
    readers = {running.user for running in scheduler.running if running.gap > 1}
    portions = step(scheduler, prompt_tokens)
    done = shares(portions)
    assert len(done) == len(portions)
    read = sum(count for id_, count in done.items() if gaps[id_] > 1)
    assert read <= prompt_tokens
    assert bool(readers) == bool(read)
    assert all(0 < count <= gaps[id_] for id_, count in done.items())
    if not readers:
        assert set(done) == set(gaps)
    writing = {running.user for running in scheduler.running if gaps[running.id] == 1}
    assert {running.user for running in scheduler.running if running.id in done} >= writing
    for running in list(scheduler.running):
        if running.written >= running.room:
            finish(scheduler, running)
    scheduler.check_integrity()


def test_who_reads_is_weighed_against_who_writes_by_user_and_by_class() -> None:
    scheduler = Scheduler(slots=9, queue=9)
    for id_, user in enumerate("aab"):
        scheduler.submit(Sequence(id=id_, known=[1], room=99, user=user))
    admit(scheduler)
    writers = scheduler.writers()
    for id_, (user, priority) in enumerate((("c", 0), ("c", 0), ("d", 0), ("e", 1)), 10):
        known = [1] * (100 + id_)
        scheduler.submit(Sequence(id=id_, known=known, room=9, user=user, priority=priority))
    admit(scheduler)
    assert scheduler.reading(writers) == Reading(prompts=4, longest=113, each=2 / 2)
