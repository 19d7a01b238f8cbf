"""When a client counts as one that takes nothing, at a transport whose buffer the test fills."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator

import pytest
from uvicorn import Config
from uvicorn.server import ServerState

from engine_adapter.bundled.connection import Connection


class Line(asyncio.Transport):
    """A way to a client that takes what the test says."""

    def __init__(self) -> None:
        super().__init__()
        self.unsent = 0
        self.cut = False

    def get_write_buffer_size(self) -> int:
        return self.unsent

    def abort(self) -> None:
        self.cut = True


class Clock(asyncio.SelectorEventLoop):
    """A loop whose timers go off when the test says."""

    def __init__(self) -> None:
        super().__init__()
        self.timers: list[asyncio.TimerHandle] = []

    def call_later(
        self, delay: float, callback: Callable[..., object], *args: object, context: object = None
    ) -> asyncio.TimerHandle:
        timer = asyncio.TimerHandle(0.0, callback, args, self)
        self.timers.append(timer)
        return timer

    def ring(self) -> None:
        """The time of every timer has come."""
        due, self.timers = self.timers, []
        for timer in due:
            if not timer.cancelled():
                timer._run()


@pytest.fixture
def clock() -> Iterator[Clock]:
    clock = Clock()
    yield clock
    clock.close()


@pytest.fixture
def line() -> Line:
    return Line()


@pytest.fixture
def connection(clock: Clock, line: Line) -> Connection:
    async def app(scope: object, receive: object, send: object) -> None: ...

    config = Config(app)
    config.load()
    made = Connection(config, ServerState(), {}, _loop=clock)
    made.connection_made(line)
    return made


def test_who_takes_nothing_is_cut(connection: Connection, line: Line, clock: Clock) -> None:
    line.unsent = 100
    connection.pause_writing()
    assert not line.cut
    clock.ring()
    assert line.cut


def test_who_takes_a_little_each_time_is_not(
    connection: Connection, line: Line, clock: Clock
) -> None:
    line.unsent = 100
    connection.pause_writing()
    for line.unsent in (99, 60, 1):
        clock.ring()
        assert not line.cut
    clock.ring()
    assert line.cut


@pytest.mark.parametrize("ending", ["resume", "lost"])
def test_nothing_is_cut_that_goes_on_or_is_over(
    connection: Connection, line: Line, clock: Clock, ending: str
) -> None:
    line.unsent = 100
    connection.pause_writing()
    if ending == "resume":
        connection.resume_writing()
    else:
        connection.connection_lost(OSError())
    clock.ring()
    assert not line.cut
