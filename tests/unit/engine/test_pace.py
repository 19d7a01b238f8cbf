"""Budgets follow measured costs; threads follow what the neighbours leave."""

from __future__ import annotations

from engine_adapter.bundled.pace import ALONE, EACH, LEAST_PROMPT, Pace
from engine_adapter.bundled.threads import PATIENCE_S, Threads


def test_prompts_get_the_time_that_writers_leave() -> None:
    pace = Pace(target_s=0.1, most=512)
    assert 0 < pace.budget(writers=4) <= 64
    for _ in range(40):
        pace.observe(writers=4, prompt_tokens=0, seconds=0.02)
        pace.observe(writers=4, prompt_tokens=80, seconds=0.1)
    assert abs(pace.budget(writers=4) - 80) <= 1
    assert abs(pace.budget(writers=5) - 80) <= 1, "the nearest number that was measured"
    assert abs(pace.budget(writers=0) - ALONE * 100) <= 1


def test_readers_are_never_starved_and_a_step_is_never_too_large() -> None:
    pace = Pace(target_s=0.1, most=512)
    for _ in range(40):
        pace.observe(writers=8, prompt_tokens=0, seconds=1.0)
        pace.observe(writers=8, prompt_tokens=32, seconds=64.0)
    assert pace.budget(writers=8) == LEAST_PROMPT
    assert pace.budget(writers=0, readers=20) == 20 * EACH
    for _ in range(60):
        pace.observe(writers=0, prompt_tokens=512, seconds=0.001)
    assert pace.budget(writers=12) == 500


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
