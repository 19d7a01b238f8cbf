"""The loop with many users: who waits for whose prompt, who makes room, whose time is over."""

from __future__ import annotations

import time

from engine_adapter.bundled.portion import Portion
from engine_adapter.bundled.telling import TELL_S
from engine_adapter.errors import Overloaded
from engine_adapter.types import Failed, Finished, Text, Usage
from tests.unit.engine.test_loop import Desk, Paper


def computed(desk: Desk) -> int:
    return sum(desk.device.sizes)


def test_a_prompt_that_many_share_is_computed_once() -> None:
    desk = Desk(Paper(), slots=4)
    desk.submit(80, 80, 80, 80, domain="all")
    desk.run()
    assert computed(desk) == 80 + 3 + 4 * 2
    assert desk.loop.tally.snapshot()["counters"]["prompt_tokens"] == 4 * 80
    for id_ in range(4):
        assert desk.text(id_) == "abc"
        assert desk.last(id_) == Finished("length", Usage(80, 3, cached_tokens=79 if id_ else 0))


def test_a_prompt_of_strangers_is_computed_for_each() -> None:
    desk = Desk(Paper(), slots=4)
    desk.submit(80, 80)
    desk.run()
    assert computed(desk) == 2 * 80 + 2 * 2


def test_public_tokens_are_computed_once_for_everybody() -> None:
    desk = Desk(Paper(), slots=4)
    desk.submit(80, 80, 80, public=60)
    desk.run()
    assert computed(desk) == 60 + 3 * 20 + 3 * 2
    assert [desk.text(id_) for id_ in range(3)] == ["abc"] * 3


def test_when_the_first_reader_leaves_another_computes_the_shared_prompt() -> None:
    desk = Desk(Paper(), slots=3)
    desk.submit(90, 90, domain="all")
    desk.run(2)
    desk.loop.cancel(0)
    desk.run()
    assert desk.text(1) == "abc"


def test_the_next_turn_goes_on_where_the_last_one_ended() -> None:
    desk = Desk(Paper(), slots=2)
    desk.submit(40, domain="a")
    desk.run()
    desk.submit(90, domain="a")
    desk.run()
    last = desk.last(1)
    assert isinstance(last, Finished)
    assert last.usage == Usage(90, 3, cached_tokens=40)


def test_a_crowd_of_one_user_makes_room_and_loses_nothing() -> None:
    desk = Desk(Paper(), slots=3)
    desk.submit(20, 21, 22, 23, room=30, user="many")
    desk.run(4)
    desk.submit(24, room=3, user="few")
    desk.run(2)
    assert any(running.user == "few" for running in desk.scheduler.running)
    desk.run()
    expected = "abcdefghijklmnopqrstuvwxyzabcd"
    assert [desk.text(id_) for id_ in range(5)] == [expected] * 4 + ["abc"]
    assert computed(desk) == 20 + 21 + 22 + 23 + 24 + 4 * 29 + 2, "nothing was computed twice"


def test_housekeeping_makes_room_for_people() -> None:
    desk = Desk(Paper(), slots=1)
    desk.submit(20, room=50, priority=10)
    desk.run(3)
    desk.submit(20, room=2)
    desk.run(4)
    assert isinstance(desk.last(1), Finished)
    assert not isinstance(desk.last(0), Finished)
    desk.run()
    assert len(desk.text(0)) == 50


def test_an_answer_ends_as_it_is_when_its_time_is_over() -> None:
    desk = Desk(Paper(), slots=1)
    desk.submit(4, 4, room=90, deadline=time.monotonic() + 0.05)
    desk.run(3)
    time.sleep(0.06)
    desk.run(2)
    late, never = desk.last(0), desk.last(1)
    assert isinstance(late, Finished)
    assert late.reason == "length"
    assert desk.text(0) == "abc"
    assert isinstance(never, Failed)
    assert isinstance(never.error, Overloaded)


def test_what_idle_lanes_hold_goes_before_anybody_is_set_aside() -> None:
    full = {"now": False}

    def small(portions: list[Portion]) -> int:
        return 1 if full["now"] and sum(map(len, desk.device.lanes.values())) > 40 else 0

    desk = Desk(Paper(small), slots=2)  # type: ignore[arg-type]  # a list is a sequence
    desk.submit(30)
    desk.run()
    full["now"] = True
    desk.submit(30)
    desk.run()
    assert desk.text(1) == "abc"
    assert desk.loop.tally.snapshot()["counters"]["preemptions"] == 0


def test_first_words_come_at_once_and_further_ones_a_few_together() -> None:
    desk = Desk(Paper(), slots=1)
    desk.submit(4, room=20)
    desk.run(1)
    assert desk.told[0][-1] == Text("a")
    desk.run(3)
    assert desk.text(0) == "a"
    time.sleep(TELL_S)
    desk.run(1)
    assert desk.text(0) == "abcde"
    desk.run(15)
    assert isinstance(desk.last(0), Finished)
