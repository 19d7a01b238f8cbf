"""What is done to the house: each fault as a coroutine, with the time TRUST.md allows for it.

``began_at`` and ``healed_at`` are set here; whether the house gets well is for the lap to see.
"""

from __future__ import annotations

import asyncio
import contextlib
import random
import signal
import subprocess
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from tests.faults.house import House
from tests.faults.record import Fault
from tests.faults.tab import Tab

FREEZE_S = (3.0, 6.0)
PAST_THE_LEASE_S = (12.5, 14.0)
SLOW_S = (4.0, 6.0)
SEEN_WITHIN_S = 120.0
SIX = ("postgres", "valkey", "engine", "web", "runner", "worker")


@dataclass(frozen=True)
class Scene:
    """Where a fault happens: the house, the open pages, the dice."""

    house: House
    tabs: Sequence[Tab]
    chance: random.Random


Act = Callable[[Scene, Fault], Awaitable[None]]


@dataclass(frozen=True)
class Kind:
    """One sort of fault. ``silence_s`` is how long a reader may hear nothing."""

    name: str
    act: Act
    silence_s: float


def kill(name: str) -> Act:
    """kill -9 of the process itself; its children are its own affair."""

    async def act(scene: Scene, fault: Fault) -> None:
        pid = scene.house.pid(name)
        assert pid, f"{name} does not run"
        fault.began_at = fault.healed_at = time.monotonic()
        scene.house.send([pid], signal.SIGKILL)

    return act


def freeze(name: str, lasting_s: tuple[float, float] = FREEZE_S) -> Act:
    """SIGSTOP of the process and its children, SIGCONT after some seconds."""

    async def act(scene: Scene, fault: Fault) -> None:
        pids = scene.house.family(name)
        assert pids, f"{name} does not run"
        fault.began_at = time.monotonic()
        scene.house.send(pids, signal.SIGSTOP)
        try:
            await asyncio.sleep(scene.chance.uniform(*lasting_s))
        finally:
            scene.house.send(pids, signal.SIGCONT)
            fault.healed_at = time.monotonic()

    return act


def hang(name: str) -> Act:
    """SIGSTOP of the process and its children, and nobody lets them go on: the house has to see
    it and to start it again."""

    async def act(scene: Scene, fault: Fault) -> None:
        pids = scene.house.family(name)
        assert pids, f"{name} does not run"
        fault.began_at = time.monotonic()
        scene.house.send(pids, signal.SIGSTOP)
        while scene.house.pid(name) == pids[0]:
            assert time.monotonic() - fault.began_at < SEEN_WITHIN_S, f"nobody sees {name} hang"
            await asyncio.sleep(0.1)
        fault.healed_at = time.monotonic()

    return act


async def two_runners(scene: Scene, fault: Fault) -> None:
    """The runner sleeps past its lease while another one is there, and wakes up again."""
    second = scene.house.second_runner()
    try:
        await asyncio.sleep(4)  # until it stands ready
        await freeze("runner", PAST_THE_LEASE_S)(scene, fault)
        await asyncio.sleep(1)
    finally:
        second.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            await asyncio.to_thread(second.wait, 10)
        second.kill()
        second.wait()


def valkey(command: bytes) -> Act:
    """An order to Valkey that takes away what is in it, or who listens to it."""

    async def act(scene: Scene, fault: Fault) -> None:
        reader, writer = await asyncio.open_unix_connection(scene.house.valkey)
        fault.began_at = fault.healed_at = time.monotonic()
        writer.write(command + b"\r\n")
        await reader.readline()
        writer.close()

    return act


async def cut_lines(scene: Scene, fault: Fault) -> None:
    """Every page's socket breaks off in the middle of whatever was on it."""
    fault.began_at = fault.healed_at = time.monotonic()
    for tab in scene.tabs:
        tab.cut()


async def slow_readers(scene: Scene, fault: Fault) -> None:
    """Every other page stops reading, for so long that buffers fill, and goes on."""
    slow = list(scene.tabs)[::2]
    fault.began_at = time.monotonic()
    for tab in slow:
        tab.pause()
    try:
        await asyncio.sleep(scene.chance.uniform(*SLOW_S))
    finally:
        for tab in slow:
            tab.resume()
        fault.healed_at = time.monotonic()


async def nothing(scene: Scene, fault: Fault) -> None:
    """For faults that consist in how the next questions are sent."""
    fault.began_at = fault.healed_at = time.monotonic()


# The seconds are TRUST.md's where it names some; nothing visible is two ticks and a poll.
ALLOWED_S = {"web": 3.0, "runner": 15.0, "engine": 5.0, "valkey": 2.0, "worker": 2.0}
KINDS: tuple[Kind, ...] = (
    *(Kind(f"kill {name}", kill(name), ALLOWED_S.get(name, 15.0)) for name in SIX),
    *(Kind(f"freeze {name}", freeze(name), ALLOWED_S.get(name, 15.0)) for name in SIX),
    Kind("kill page server", kill("page server"), 3.0),
    Kind("two runners", two_runners, 15.0),
    Kind("flush valkey", valkey(b"FLUSHALL"), 2.0),
    Kind("cut doorbell", valkey(b"CLIENT KILL TYPE pubsub"), 2.0),
    Kind("cut sockets", cut_lines, 3.0),
    Kind("slow readers", slow_readers, 2.0),
    Kind("posts twice", nothing, 2.0),
    Kind("posts cut", nothing, 2.0),
)
# They take a minute each, and belong to the long run only. The engine is the harness's own here.
HANGS: tuple[Kind, ...] = tuple(
    Kind(f"hang {name}", hang(name), 15.0) for name in SIX if name != "engine"
)
REAL: tuple[Kind, ...] = (
    Kind("kill runner", kill("runner"), 15.0),
    Kind("kill engine", kill("engine"), 5.0),
    Kind("kill model worker", kill("model worker"), 5.0),
    Kind("freeze engine", freeze("engine"), 5.0),
    Kind("freeze model worker", freeze("model worker"), 5.0),
)
MANNERS = {"posts twice": "twice", "posts cut": "cut"}
