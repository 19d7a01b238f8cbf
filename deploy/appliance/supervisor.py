"""Keeps programs running: starts again what dies or hangs, with back-off, and stops all in order.

One thread, one loop: it sleeps until a child ends or a signal comes, and asks now and then who
lives. Knows nothing of Konak.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import NoReturn

from deploy.appliance import processes
from deploy.appliance.messages import say
from deploy.appliance.patience import LOOK_S, Patience
from deploy.appliance.processes import Program

FIRST_DELAY_S = 0.25
LONGEST_DELAY_S = 30.0
DYING = 5  # this many ends in a row are told
STEADY_S = 60.0  # who has run this long starts with a clean slate
REPLY_SHARE = 0.4  # of the time between two looks: what a question for a sign may wait


class StopRequested(Exception):
    """Ctrl-C or a termination signal came."""


@dataclass
class Child:
    """A program and how it fares. ``due_at`` (monotonic) says when it is started again, and
    ``look_at`` when it is next asked for a sign of life."""

    program: Program
    process: subprocess.Popen[bytes] | None = None
    started_at: float = 0.0
    due_at: float = 0.0
    failures: int = 0
    told: bool = False
    look_at: float = 0.0
    patience: Patience | None = None

    @property
    def delay_s(self) -> float:
        return float(min(LONGEST_DELAY_S, FIRST_DELAY_S * 2 ** max(0, self.failures - 1)))


class Supervisor:
    """Owns the child processes. ``record`` is called with name → pid after each start, and who
    lives is asked every ``look_s`` seconds."""

    def __init__(self, record: Callable[[dict[str, int]], None], look_s: float = LOOK_S) -> None:
        self.children: dict[str, Child] = {}
        self._record = record
        self._look_s = look_s
        self._stop = False
        self._wake, wake_writer = os.pipe()
        os.set_blocking(self._wake, False)
        os.set_blocking(wake_writer, False)
        signal.set_wakeup_fd(wake_writer, warn_on_full_buffer=False)
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, self._ask_to_stop)
        signal.signal(signal.SIGCHLD, lambda *_: None)

    def start(self, program: Program) -> None:
        """Start ``program`` and keep it running from now on."""
        child = self.children[program.name] = Child(program)
        self._start(child)

    def pid(self, name: str) -> int | None:
        """The process id of a running program."""
        process = self.children[name].process
        return process.pid if process else None

    def run(self, program: Program) -> tuple[int, str]:
        """Run ``program`` to its end, watching the others; its exit code and standard output."""
        with tempfile.TemporaryFile(dir=program.log.parent) as output:
            process = processes.spawn(program, output.fileno())
            try:
                while process.poll() is None:
                    self._turn(0.5)
            except StopRequested:
                processes.kill_group(process.pid)
                process.wait()
                raise
            output.seek(0)
            return process.returncode, output.read().decode(errors="replace")

    def wait(self, ready: Callable[[], bool], timeout_s: float) -> bool:
        """Watch until ``ready()``; False when that took longer than ``timeout_s``."""
        limit = time.monotonic() + timeout_s
        while not ready():
            if time.monotonic() > limit:
                return False
            self._turn(0.03)
        return True

    def watch(self) -> NoReturn:
        """Watch until a signal asks to stop, which raises ``StopRequested``."""
        while True:
            self._turn(min(1.0, self._look_s))

    def stop(self, order: Sequence[tuple[Sequence[str], float]]) -> None:
        """End all, group after group: (names, seconds they are given before they are killed)."""
        for names, grace_s in order:
            gone = [self.children.pop(name) for name in names if name in self.children]
            running = [(c.process, c.program.stop_signal) for c in gone if c.process]
            for process, number in running:
                process.send_signal(number)
            limit = time.monotonic() + grace_s
            for process, _ in running:
                try:
                    process.wait(max(0.0, limit - time.monotonic()))
                except subprocess.TimeoutExpired:
                    processes.kill_family(process.pid)
                processes.kill_group(process.pid)
                process.wait()

    def _ask_to_stop(self, number: int, frame: FrameType | None) -> None:
        self._stop = True

    def _turn(self, longest_s: float) -> None:
        """Sleep until something happens, then see to every child."""
        now = time.monotonic()
        due = [c.due_at - now for c in self.children.values() if c.process is None]
        select.select([self._wake], [], [], max(0.0, min([longest_s, *due])))
        with contextlib.suppress(BlockingIOError):
            while os.read(self._wake, 512):
                pass
        if self._stop:
            self._stop = False
            raise StopRequested
        for child in self.children.values():
            self._see_to(child)

    def _see_to(self, child: Child) -> None:
        now = time.monotonic()
        if child.process is None:
            if now >= child.due_at:
                self._start(child)
        elif child.process.poll() is not None:
            processes.kill_group(child.process.pid)
            child.process = None
            child.failures += 1
            child.due_at = now + child.delay_s
            if child.failures >= DYING and not child.told:
                child.told = True
                name, log = child.program.name, child.program.log
                say("keeps_dying", name=name, count=child.failures, log=log)
        else:
            self._look_after(child, now)

    def _look_after(self, child: Child, now: float) -> None:
        """It runs: forgive what is long ago, and see now and then whether it lives."""
        if child.failures and now - child.started_at > STEADY_S:
            if child.told:
                say("runs_again", name=child.program.name)
            child.failures, child.told = 0, False
        if child.program.sign and child.patience and now >= child.look_at:
            child.look_at = now + self._look_s
            if child.patience.ends(sign=child.program.sign(REPLY_SHARE * self._look_s)):
                say("hangs", name=child.program.name)
                processes.kill_family(child.patience.pid)

    def _start(self, child: Child) -> None:
        child.started_at = time.monotonic()
        try:
            child.process = processes.spawn(child.program)
        except OSError as error:
            _note(child.program.log, error)
            child.failures += 1
            child.due_at = child.started_at + child.delay_s
            return
        child.patience = Patience(child.process.pid)
        child.look_at = child.started_at + self._look_s
        running = {n: c.process.pid for n, c in self.children.items() if c.process}
        self._record(running)


def _note(log: Path, error: OSError) -> None:
    """Write why a program could not even be started into its log; a full disk may forbid it."""
    with contextlib.suppress(OSError), log.open("a") as file:
        file.write(f"could not be started: {error}\n")
