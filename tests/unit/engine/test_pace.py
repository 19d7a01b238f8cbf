"""Budgets follow measured costs; threads follow what the neighbours leave."""

from __future__ import annotations

from engine_adapter.bundled.pace import ALONE, EACH, GRAIN, LEAST_PROMPT, Pace, Reading
from engine_adapter.bundled.threads import PATIENCE_S, Threads


def test_prompts_get_the_time_that_writers_leave() -> None:
    pace = Pace(target_s=0.1, most=512)
    assert 0 < pace.budget(4, Reading()) <= 64
    for _ in range(40):
        pace.observe(writers=4, prompt_tokens=0, seconds=0.02)
        pace.observe(writers=4, prompt_tokens=80, seconds=0.1)
    assert abs(pace.budget(4, Reading()) - 80) <= 1
    assert abs(pace.budget(5, Reading()) - 80) <= 1, "the nearest number that was measured"
    assert abs(pace.budget(0, Reading()) - ALONE * 100) <= 1


def test_readers_are_never_starved_and_a_step_is_never_too_large() -> None:
    pace = Pace(target_s=0.1, most=512)
    for _ in range(40):
        pace.observe(writers=8, prompt_tokens=0, seconds=1.0)
        pace.observe(writers=8, prompt_tokens=32, seconds=64.0)
    assert pace.budget(8, Reading()) == LEAST_PROMPT
    assert pace.budget(0, Reading(prompts=20)) == 20 * EACH
    for _ in range(60):
        pace.observe(writers=0, prompt_tokens=512, seconds=0.001)
    assert pace.budget(12, Reading()) == 500


def test_where_more_read_than_write_a_step_may_take_longer() -> None:
    pace = measured(writing_s=0.02, token_s=0.001)
    for each, tokens in ((0.25, 80), (1, 80), (2, 180), (4, 380), (31, 380)):
        assert abs(pace.budget(4, Reading(prompts=8, each=each)) - tokens) <= 1


def test_a_long_prompt_is_read_in_whole_grains_while_a_step_takes_not_twice_its_target() -> None:
    def depth(token_s: float) -> int:
        pace = measured(writing_s=0.02, token_s=token_s)
        return pace.budget(4, Reading(longest=1000))

    assert depth(0.0015) == depth(0.002) == GRAIN
    assert depth(0.08 / (GRAIN // 2 - 2)) < GRAIN // 2
    assert measured(0.02, 0.002).budget(4, Reading(longest=GRAIN - 1)) == 40, "it is read whole"


def test_grains_are_tried_again_once_portions_were_small_for_long() -> None:
    pace = measured(writing_s=0.02, token_s=0.01)
    budgets = []
    for _ in range(200):
        budgets.append(pace.budget(4, Reading(longest=1000)))
        pace.observe(writers=4, prompt_tokens=budgets[-1], seconds=0.02 + 0.003 * budgets[-1])
    assert budgets[0] < GRAIN // 2
    assert GRAIN in budgets


def measured(writing_s: float, token_s: float) -> Pace:
    """With four writers, and in steps that read much."""
    pace = Pace(target_s=0.1, most=512)
    pace.observe(writers=4, prompt_tokens=0, seconds=writing_s)
    pace.observe(writers=4, prompt_tokens=GRAIN, seconds=writing_s + GRAIN * token_s)
    return pace


def test_threads_shrink_beside_neighbours_and_come_back() -> None:
    threads = Threads(4)
    observe(threads, 3.0, share=0.97)
    assert threads.count == 4
    observe(threads, 2.0, share=0.5)
    assert threads.count < 4
    observe(threads, 2 * PATIENCE_S + 2, share=0.99)
    assert threads.count == 4


def test_threads_are_tried_less_and_less_often_while_neighbours_stay() -> None:
    threads = Threads(2)
    changes = []
    for step in range(1200):
        # With one thread nobody is in the way; with two, half the time is taken.
        if threads.observe(0.1, 0.1 if threads.count == 1 else 0.05):
            changes.append(step)
    pauses = [later - sooner for sooner, later in zip(changes[::2], changes[1::2], strict=False)]
    assert pauses == sorted(pauses)
    assert pauses[-1] > 4 * pauses[0]


def observe(threads: Threads, seconds: float, *, share: float) -> None:
    for _ in range(int(seconds / 0.1)):
        threads.observe(0.1, 0.1 * share)
