"""What is known of an engine of a pool: how busy it is, how long it rests, when it is looked at."""

from __future__ import annotations

import pytest

from engine_adapter.errors import Broken, Overloaded, Unreachable
from engine_adapter.pool import Known
from engine_adapter.pool.known import LONGEST_PAUSE_S, LONGEST_WORD_S, LOOK_S
from engine_adapter.types import Gauges


def pause(known: Known, error: Broken | Overloaded | Unreachable, at: float) -> float:
    known.failed(error, at)
    return known.rests_until - at


def test_each_failure_makes_the_pause_longer_up_to_a_limit() -> None:
    known = Known()
    pauses = [pause(known, Broken(""), at=1000.0 * n) for n in range(9)]
    assert pauses == [1, 2, 4, 8, 16, 32, LONGEST_PAUSE_S, LONGEST_PAUSE_S, LONGEST_PAUSE_S]
    known.answered()
    assert known.readiness(8000.0) == "ready"
    assert pause(known, Unreachable(""), at=9000.0) == 1


def test_that_it_is_well_is_believed_but_not_what_went_wrong_forgotten() -> None:
    known = Known()
    known.failed(Broken(""), 0.0)
    assert [known.readiness(at) for at in (0.9, 1.0)] == ["resting", "doubtful"]
    known.is_well()
    assert known.readiness(1.0) == "ready"
    assert pause(known, Broken(""), at=1.0) == 2


@pytest.mark.parametrize(
    ("said", "heeded"), [(30.0, 30.0), (0.0, 0.0), (9999.0, LONGEST_WORD_S), (None, 1.0)]
)
def test_a_full_one_is_let_be_for_as_long_as_it_says(said: float | None, heeded: float) -> None:
    known = Known()
    assert pause(known, Overloaded("", retry_after=said), at=5.0) == heeded
    if heeded:
        assert known.readiness(5.0 + heeded - 0.1) == "refusing"
    assert known.readiness(5.0 + heeded) == "ready", "it need not show that it is well"


def test_what_this_process_does_counts_until_the_engine_tells_it_itself() -> None:
    known = Known()
    with known.asked(), known.asked():
        assert known.load(0.0).busy == 2
        known.told(Gauges(running=6, waiting=1), 0.0)
        assert (known.load(0.0).busy, known.load(0.0).is_full) == (7, True)
        with known.asked():
            assert known.load(0.5).busy == 8
    assert known.load(0.5).busy == 5, "two of the seven have ended"
    assert known.load(11.0).busy == 0
    with known.asked():
        known.told(Gauges(running=0, waiting=0), 12.0)
        assert known.load(12.0).busy == 1, "the engine has not counted it yet"


def test_engines_without_gauges_are_as_busy_as_this_process_makes_them() -> None:
    known = Known()
    known.told(Gauges(), 0.0)
    with known.asked():
        load = known.load(0.0)
    assert (load.busy, load.waits, load.slots) == (1, False, None)


def test_it_is_looked_at_once_a_second_and_let_be_while_it_rests() -> None:
    known = Known()
    looked = [at for at in (0.0, 0.5, LOOK_S, 1.5, 2 * LOOK_S) if known.is_due(at)]
    assert looked == [0.0, LOOK_S, 2 * LOOK_S]
    known.failed(Broken(""), 10.0)
    assert not known.is_due(10.9)
    assert known.is_due(11.0)
