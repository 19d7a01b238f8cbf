"""A client's connection, cut where the client takes nothing any more.

What is written for such a one would be kept, and its model in use, for as long as it likes. Knows
no engine and no dialect: its request hears that the client has gone.
"""

from __future__ import annotations

import asyncio
import logging

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

log = logging.getLogger(__name__)

STUCK_S = 30.0  # as long as the web processes wait for a page


class Connection(HttpToolsProtocol):
    """uvicorn's. While more waits to be sent than its buffer should hold, it is seen every
    ``STUCK_S`` seconds whether the client has taken some."""

    _next_look: asyncio.TimerHandle | None = None

    def pause_writing(self) -> None:
        """The buffer is full."""
        super().pause_writing()
        self._look_later()

    def resume_writing(self) -> None:
        """The client has read."""
        self._rest()
        super().resume_writing()

    def connection_lost(self, exc: Exception | None) -> None:
        """It has ended, whoever ended it."""
        self._rest()
        super().connection_lost(exc)

    def _look_later(self) -> None:
        unsent = self.transport.get_write_buffer_size()
        self._next_look = self.loop.call_later(STUCK_S, self._look, unsent)

    def _look(self, unsent: int) -> None:
        if self.transport.get_write_buffer_size() < unsent:
            self._look_later()
        else:
            log.warning("A client took nothing for %.0f s; its connection was cut.", STUCK_S)
            self.transport.abort()

    def _rest(self) -> None:
        if self._next_look is not None:
            self._next_look.cancel()
            self._next_look = None
