"""Work that is done for a client as long as it is there to take it. Knows no engine."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

from starlette.types import Receive

T = TypeVar("T")


async def while_listened_to(doing: Coroutine[Any, Any, T], receive: Receive) -> T | None:
    """What it returns or raises; None where the client has gone, and then it is cancelled.

    The client's whole request has been received by then.
    """
    work = asyncio.ensure_future(doing)
    gone = asyncio.ensure_future(_until_gone(receive))
    try:
        await asyncio.wait({work, gone}, return_when=asyncio.FIRST_COMPLETED)
    finally:
        gone.cancel()
        work.cancel()  # nothing where it is done
        await asyncio.wait({work, gone})
    return None if work.cancelled() else work.result()


async def _until_gone(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
