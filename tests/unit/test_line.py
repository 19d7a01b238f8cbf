"""How fast a line moves, and what can be said of that."""

from __future__ import annotations

import pytest

from chat.runner import line


class Clock:
    """The monotonic clock, in the test's hands."""

    def __init__(self) -> None:
        self.now = 1000.0

    def monotonic(self) -> float:
        """What the clock shows."""
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(line, "time", clock)
    return clock


def test_nobody_guesses_before_the_line_has_moved(clock: Clock) -> None:
    speed = line.Speed()
    speed.stands(True)
    for _ in range(line.LEAST_MOVES - 1):
        clock.now += 4
        speed.move(1)
        assert speed.seconds(3) is None
    clock.now += 4
    speed.move(1)
    assert speed.seconds(1) == 4
    assert speed.seconds(3) == 12


def test_a_line_that_stands_still_takes_longer_and_longer(clock: Clock) -> None:
    speed = line.Speed()
    speed.stands(True)
    clock.now += 10
    speed.move(10)
    assert speed.seconds(5) == 5
    clock.now += 30
    assert speed.seconds(5) == 20
    clock.now += line.WINDOW_S
    assert speed.seconds(5) is None


def test_an_empty_line_forgets(clock: Clock) -> None:
    speed = line.Speed()
    speed.move(50)
    speed.stands(True)
    clock.now += 10
    speed.move(10)
    speed.stands(False)
    speed.stands(True)
    assert speed.seconds(1) is None
