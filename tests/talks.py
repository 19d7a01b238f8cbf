"""Small servers of the tests that speak by hand, and leave no connection behind."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path

Talk = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


@asynccontextmanager
async def talking(talk: Talk, socket: Path | None = None) -> AsyncIterator[asyncio.Server]:
    """Answer every connection with ``talk``, on a Unix socket or else a free port of loopback.

    What is still connected at the end is cut and what still talks is cancelled: a stream that
    outlives its loop is a warning that fails whichever test runs when it is collected.
    """
    tasks: set[asyncio.Task[None]] = set()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        tasks.add(task)
        try:
            with suppress(ConnectionError, asyncio.IncompleteReadError):
                await talk(reader, writer)
                writer.close()
                await writer.wait_closed()
        finally:
            tasks.discard(task)
            writer.transport.abort()

    if socket is None:
        server = await asyncio.start_server(serve, "127.0.0.1", 0)
    else:
        server = await asyncio.start_unix_server(serve, socket)
    async with server:
        try:
            yield server
        finally:
            server.close()
            while tasks:
                for task in tasks:
                    task.cancel()
                await asyncio.wait(tasks)
