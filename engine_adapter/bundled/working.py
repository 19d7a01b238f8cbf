"""The life of a worker's process, whatever it computes: its command line, its work, its end.

Knows no llama.cpp, and what the host asks only as frames.
"""

from __future__ import annotations

import asyncio
import json
import os
import socket
import sys
from collections.abc import Callable, Coroutine
from typing import Any

from engine_adapter.bundled.child import tie_to_parent
from engine_adapter.bundled.frames import Frame, receive
from engine_adapter.bundled.line import Line
from engine_adapter.bundled.loading import Loading
from engine_adapter.bundled.tally import Tally

TALLY_S = 1.0
Serve = Callable[[socket.socket, Loading], Coroutine[Any, Any, int]]


def run(serve: Serve) -> None:
    """The process. Leaves without the C++ destructors: the thread may still be computing."""
    tie_to_parent()
    connection = socket.socket(fileno=int(sys.argv[1]))
    status = asyncio.run(serve(connection, Loading.from_json(json.loads(sys.argv[2]))))
    sys.stderr.flush()
    os._exit(status)


async def work(
    reader: asyncio.StreamReader, handle: Callable[[Frame], None], ended: asyncio.Future[None]
) -> int:
    """Do what the host says until it hangs up (0) or nothing can be computed any more (1)."""
    while not ended.done():
        frame = asyncio.create_task(receive(reader))
        either: set[asyncio.Future[Any]] = {frame, ended}
        await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
        if frame.done():
            if (message := frame.result()) is None:
                return 0
            handle(message)
    return 1


async def keep_counting(tally: Tally, line: Line) -> None:
    """Tell the host now and then what was counted, when it has changed; else only that this process
    lives."""
    told = None
    while True:
        snapshot = tally.snapshot()
        line.send({} if snapshot == told else {"tally": snapshot})
        told = snapshot
        await asyncio.sleep(TALLY_S)
