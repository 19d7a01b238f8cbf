"""A few processes that do the same, forked from one that has loaded everything.

They share its memory until they write to it. Who dies is replaced at once; all end together.
"""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import Callable
from types import FrameType
from typing import Final

from deploy.appliance.processes import end_with_parent

# Whoever dies younger than this is not replaced before it would have been that old.
YOUNG_S: Final = 1.0


class Family:
    """``size`` processes that run ``live`` each. Fork before anything starts a thread."""

    def __init__(self, size: int, live: Callable[[], None]) -> None:
        self._size = size
        self._live = live
        self._children: dict[int, float] = {}
        self._stopping = False

    def run(self) -> None:
        """Keep them running until SIGTERM or SIGINT, and until the last has ended then."""
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._stop)
        for _ in range(self._size):
            self._fork()
        while self._children:
            pid, _ = os.wait()
            born_at = self._children.pop(pid, 0.0)
            if not self._stopping:
                time.sleep(max(0.0, born_at + YOUNG_S - time.monotonic()))
                self._fork()

    def _fork(self) -> None:
        if self._stopping:
            return
        parent = os.getpid()
        pid = os.fork()
        if pid == 0:
            self._be_child(parent)
        self._children[pid] = time.monotonic()
        if self._stopping:  # it was asked meanwhile, of the others only
            self._end(pid)

    def _be_child(self, parent: int) -> None:
        status = 1
        try:
            for number in (signal.SIGTERM, signal.SIGINT):
                signal.signal(number, signal.SIG_DFL)
            end_with_parent(signal.SIGKILL, parent)
            self._live()
            status = 0
        finally:
            os._exit(status)

    def _stop(self, number: int, frame: FrameType | None) -> None:
        self._stopping = True
        for pid in self._children:
            self._end(pid)

    @staticmethod
    def _end(pid: int) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGTERM)
