"""The worker's way to its host: frames from any thread, and nobody ever waits for the other side.

The thread that computes writes by itself. Another one, woken at each step, would take the place
of a thread that all others of the step wait for.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
import threading

from engine_adapter.bundled.frames import Frame, pack


class Line:
    """Sends frames over ``connection``. Made in the event loop, which sends what did not fit."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        self._io = asyncio.get_running_loop()
        self._lock = threading.Lock()
        self._left = bytearray()

    def send(self, frame: Frame) -> None:
        """Send the frame, or keep what does not fit until it does. A lost line is no error here:
        whoever reads from it will know."""
        data = pack(frame)
        with self._lock:
            full = bool(self._left)
            self._left += data
            if not full and self._push():
                self._io.call_soon_threadsafe(self._wait)

    async def drain(self) -> None:
        """Return when everything is sent, or the line is lost."""
        while self._left:  # noqa: ASYNC110 - once, at the end: an event would be more, not better
            await asyncio.sleep(0.01)

    def _push(self) -> bool:
        """Send what there is, as far as it goes at once. Returns whether something is left."""
        try:
            sent = self._connection.send(self._left, socket.MSG_DONTWAIT)
            del self._left[:sent]
        except BlockingIOError:
            pass
        except OSError:
            self._left.clear()
        return bool(self._left)

    def _wait(self) -> None:
        with contextlib.suppress(OSError, ValueError):  # closed meanwhile
            self._io.add_writer(self._connection, self._ready)

    def _ready(self) -> None:
        with self._lock:
            if not self._push():
                self._io.remove_writer(self._connection)
