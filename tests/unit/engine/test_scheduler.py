"""The one rule: writers first, prompts share what is left, the line is kept in order."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine_adapter.bundled.pace import LEAST_PROMPT, Pace
from engine_adapter.bundled.scheduler import Portion, Scheduler
from engine_adapter.bundled.sequence import Sequence
from engine_adapter.bundled.slots import Slots
from engine_adapter.errors import Overloaded


def sequence(number: int, prompt: int, *, room: int = 4, priority: int = 0) -> Sequence:
    return Sequence(id=number, known=[1] * prompt, room=room, priority=priority)


def perform(portions: list[Portion]) -> None:
    """What the loop does with a plan: all is computed, and who can writes a token."""
    for portion in portions:
        closes = portion.closes
        portion.sequence.computed += portion.count
        if closes:
            portion.sequence.known.append(1)


def shares(portions: list[Portion]) -> dict[int, int]:
    return {portion.sequence.id: portion.count for portion in portions}


def test_writers_come_first_and_prompts_share_what_is_left() -> None:
    scheduler = Scheduler(slots=4, queue=9)
    scheduler.submit(sequence(0, 1))
    perform(scheduler.plan(20))
    for number, prompt in ((1, 100), (2, 5), (3, 100)):
        scheduler.submit(sequence(number, prompt))
    assert shares(scheduler.plan(20)) == {0: 1, 2: 5, 1: 7, 3: 7}


def test_a_long_prompt_is_read_in_portions_that_follow_each_other() -> None:
    scheduler = Scheduler(slots=1, queue=9)
    scheduler.submit(sequence(0, 25))
    seen = []
    for _ in range(4):
        portions = scheduler.plan(10)
        seen += [(portion.start, portion.count, portion.closes) for portion in portions]
        perform(portions)
    assert seen == [(0, 10, False), (10, 10, False), (20, 5, True), (25, 1, True)]


def test_the_line_is_kept_by_priority_then_arrival() -> None:
    scheduler = Scheduler(slots=1, queue=9)
    scheduler.submit(sequence(0, 3))
    scheduler.plan(9)
    for number, priority in ((1, 5), (2, 0), (3, 5), (4, -1)):
        scheduler.submit(sequence(number, 3, priority=priority))
    assert [waiting.id for waiting in scheduler.waiting] == [4, 2, 1, 3]
    scheduler.finish(scheduler.running[0])
    assert shares(scheduler.plan(9)) == {4: 3}


def test_a_full_line_refuses() -> None:
    scheduler = Scheduler(slots=2, queue=1)
    for number in range(3):
        scheduler.submit(sequence(number, 3))
    with pytest.raises(Overloaded):
        scheduler.submit(sequence(3, 3))
    scheduler.finish(scheduler.waiting[0])
    scheduler.submit(sequence(4, 3))


def test_who_is_set_back_waits_until_somebody_finishes_and_keeps_what_it_wrote() -> None:
    scheduler = Scheduler(slots=2, queue=9)
    for number in range(2):
        scheduler.submit(sequence(number, 3))
    perform(scheduler.plan(9))
    victim = scheduler.victim()
    assert victim.id == 1
    scheduler.set_back(victim)
    assert (victim.slot, victim.computed, len(victim.known)) == (None, 0, 4)
    assert shares(scheduler.plan(9)) == {0: 1}
    scheduler.finish(scheduler.running[0])
    assert shares(scheduler.plan(9)) == {1: 4}
    with pytest.raises(ValueError, match="only running"):
        scheduler.set_back(victim)
    scheduler.check_integrity()


def test_a_budget_that_would_starve_prompts_is_refused() -> None:
    with pytest.raises(ValueError, match="too small"):
        Scheduler(slots=4, queue=1).plan(4)


def test_a_slot_is_held_once_and_released_by_its_holder() -> None:
    slots = Slots(1)
    holder, stranger = sequence(0, 1), sequence(1, 1)
    slots.take(holder)
    with pytest.raises(ValueError, match="holds slot"):
        slots.take(holder)
    stranger.slot = 0
    with pytest.raises(ValueError, match="does not hold"):
        slots.release(stranger)
    slots.check_integrity()
    holder.slot = None
    with pytest.raises(RuntimeError, match="out of balance"):
        slots.check_integrity()


@given(st.data())
def test_books_balance_and_nobody_starves(data: st.DataObject) -> None:
    slots = data.draw(st.integers(1, 4))
    scheduler = Scheduler(slots=slots, queue=6)
    count = 0
    for _ in range(data.draw(st.integers(1, 25))):
        for _ in range(data.draw(st.integers(0, 3))):
            new = sequence(
                count, data.draw(st.integers(1, 40)), priority=data.draw(st.integers(-1, 1))
            )
            count += 1
            try:
                scheduler.submit(new)
            except Overloaded:
                assert len(scheduler.waiting) >= 6
        everyone = scheduler.running + scheduler.waiting
        if everyone and data.draw(st.booleans()):
            scheduler.finish(data.draw(st.sampled_from(everyone)))
        if len(scheduler.running) > 1 and data.draw(st.integers(0, 5)) == 0:
            scheduler.set_back(scheduler.victim())
        step(scheduler, data.draw(st.integers(slots + 1, 30)))
    left = len(scheduler.running) + len(scheduler.waiting)
    for _ in range(left * 100):
        step(scheduler, slots + 1)
    assert not scheduler.running
    assert not scheduler.waiting


def step(scheduler: Scheduler, budget: int) -> None:
    gaps = {running.id: running.gap for running in scheduler.running}
    portions = scheduler.plan(budget)
    assert sum(portion.count for portion in portions) <= budget
    assert len(shares(portions)) == len(portions)
    assert all(0 < portion.count <= portion.sequence.gap for portion in portions)
    assert {id_ for id_, gap in gaps.items() if gap == 1} <= set(shares(portions))
    prompts = any(running.gap > 1 for running in scheduler.running)
    assert prompts == any(portion.sequence.gap > 1 for portion in portions)
    perform(portions)
    for running in list(scheduler.running):
        if running.written >= running.room:
            scheduler.finish(running)
    scheduler.check_integrity()


def test_the_pace_follows_the_cost_of_a_token() -> None:
    pace = Pace(target_s=0.1, most=512)
    first = pace.budget(writers=4)
    for _ in range(40):
        pace.observe(tokens=64, seconds=0.064)
    assert pace.budget(writers=4) == 100
    assert pace.budget(writers=0) == 400
    for _ in range(40):
        pace.observe(tokens=64, seconds=6.4)
    assert pace.budget(writers=4) == 4 + LEAST_PROMPT
    pace.observe(tokens=1, seconds=99)
    for _ in range(40):
        pace.observe(tokens=512, seconds=0.001)
    assert pace.budget(writers=4) == 512
    assert first <= 64
