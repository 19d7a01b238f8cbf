"""A few processes that do the same, forked from one that has loaded everything.

They share its memory until they write to it. Who dies or hangs is replaced; all end together.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass
from types import FrameType
from typing import Final

from deploy.appliance.patience import LOOK_S, Patience
from deploy.appliance.processes import end_with_parent

# Whoever dies younger than this is not replaced before it would have been that old.
YOUNG_S: Final = 1.0
Beat = Callable[[], None]


@dataclass
class Member:
    """A child, and the pipe that it beats on."""

    pulse: int
    patience: Patience
    born_at: float
    has_beaten: bool = False


class Family:
    """``size`` processes that run ``live`` each, which calls what it is given now and then. Fork
    before anything starts a thread. Whether all live is looked at every ``look_s`` seconds."""

    def __init__(self, size: int, live: Callable[[Beat], None], look_s: float = LOOK_S) -> None:
        self._size = size
        self._live = live
        self._look_s = look_s
        self._children: dict[int, Member] = {}
        self._stopping = False

    def run(self) -> None:
        """Keep them running until SIGTERM or SIGINT, and until the last has ended then."""
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._stop)
        for _ in range(self._size):
            self._fork()
        look_at = time.monotonic() + self._look_s
        while self._children:
            self._feel(max(0.0, look_at - time.monotonic()))
            self._bury()
            if time.monotonic() >= look_at:
                look_at = time.monotonic() + self._look_s
                self._look()

    def _feel(self, within_s: float) -> None:
        """Wait for a beat, or for the end of one, which ends its pipe."""
        pulses = {member.pulse: member for member in self._children.values()}
        for pulse in select.select(list(pulses), [], [], within_s)[0]:
            pulses[pulse].has_beaten = bool(os.read(pulse, 64))

    def _bury(self) -> None:
        for pid, member in list(self._children.items()):
            if os.waitpid(pid, os.WNOHANG)[0]:
                os.close(member.pulse)
                del self._children[pid]
                if not self._stopping:
                    time.sleep(max(0.0, member.born_at + YOUNG_S - time.monotonic()))
                    self._fork()

    def _look(self) -> None:
        for pid, member in self._children.items():
            if member.patience.ends(sign=member.has_beaten):
                self._end(pid, signal.SIGKILL)
            member.has_beaten = False

    def _fork(self) -> None:
        if self._stopping:
            return
        parent = os.getpid()
        pulse, heart = os.pipe()
        pid = os.fork()
        if pid == 0:
            os.set_blocking(heart, False)
            self._be_child(parent, heart)
        os.close(heart)
        self._children[pid] = Member(pulse, Patience(pid), time.monotonic())
        if self._stopping:  # it was asked meanwhile, of the others only
            self._end(pid, signal.SIGTERM)

    def _be_child(self, parent: int, heart: int) -> None:
        def beat() -> None:
            with contextlib.suppress(BlockingIOError):  # nobody feels it just now
                os.write(heart, b".")

        status = 1
        try:
            for number in (signal.SIGTERM, signal.SIGINT):
                signal.signal(number, signal.SIG_DFL)
            end_with_parent(signal.SIGKILL, parent)
            self._live(beat)
            status = 0
        finally:
            os._exit(status)

    def _stop(self, number: int, frame: FrameType | None) -> None:
        self._stopping = True
        for pid in self._children:
            self._end(pid, signal.SIGTERM)

    @staticmethod
    def _end(pid: int, number: signal.Signals) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, number)
