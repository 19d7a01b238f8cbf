"""The doorbell: tells the web processes that something is new. It may be lost, the rows may not.

One message carries all news of a tick. Knows no socket and no HTML.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, Final

from asgiref.sync import async_to_sync
from channels.layers import get_channel_layer
from django.db import transaction

log = logging.getLogger(__name__)

GROUP = "web"
loop: ContextVar[asyncio.AbstractEventLoop | None] = ContextVar("loop", default=None)
# One that hangs is waited for no longer: the client's own patience is minutes, and whoever tells
# must not stop writing meanwhile.
RING_S: Final = 0.3


@dataclass(frozen=True, slots=True)
class Grew:
    """An answer got the chunks up to ``seq``; ``text`` is what ``seq`` added."""

    conversation: str
    answer: str
    generation: str
    seq: int
    text: str
    kind: str = "grew"


@dataclass(frozen=True, slots=True)
class Thought:
    """As ``Grew``, of a tick in which the model was thinking, for ``reasoned_ms`` by now."""

    conversation: str
    answer: str
    generation: str
    seq: int
    text: str
    reasoning: str
    reasoned_ms: int | None
    kind: str = "thought"


@dataclass(frozen=True, slots=True)
class Changed:
    """An answer entered another state."""

    conversation: str
    answer: str
    kind: str = "changed"


@dataclass(frozen=True, slots=True)
class Asked:
    """A new answer is awaited, which nobody has read a word of."""

    conversation: str
    answer: str
    generation: str
    kind: str = "asked"


@dataclass(frozen=True, slots=True)
class Waits:
    """An answer's place in line, and the seconds until its turn where anybody can say."""

    conversation: str
    answer: str
    ahead: int
    seconds: int | None
    kind: str = "waits"


@dataclass(frozen=True, slots=True)
class Paused:
    """The engine of a running answer is away; the runner asks it again."""

    conversation: str
    answer: str
    generation: str
    kind: str = "paused"


@dataclass(frozen=True, slots=True)
class Ended:
    """A run ended in ``state``, for ``reason`` if there is one; ``seq`` was its last chunk."""

    conversation: str
    answer: str
    generation: str
    seq: int
    state: str
    reason: str
    kind: str = "ended"


@dataclass(frozen=True, slots=True)
class Titled:
    """A conversation got another title."""

    owner: str
    conversation: str
    kind: str = "titled"


@dataclass(frozen=True, slots=True)
class SessionsEnded:
    """Sessions of a person ended: these, or all when ``session_keys`` is ``None``."""

    owner: str
    session_keys: list[str] | None
    kind: str = "sessions_ended"


News = Grew | Thought | Changed | Asked | Waits | Paused | Ended | Titled | SessionsEnded


async def tell(*news: News) -> None:
    """Ring once for all of it. A doorbell that is out of order is no reason to fail."""
    layer = get_channel_layer()
    try:
        async with asyncio.timeout(RING_S):
            await layer.group_send(GROUP, {"type": "news", "news": [_wire(item) for item in news]})
    except (OSError, ConnectionError, TimeoutError) as error:
        log.warning("news not told: %s", type(error).__name__)
    except Exception as error:
        # The Redis client has an error tree of its own, which this room does not import.
        if type(error).__module__.partition(".")[0] != "redis":
            raise
        log.warning("news not told: %s", type(error).__name__)


def _wire(item: News) -> dict[str, Any]:
    """The fields by name. ``dataclasses.asdict`` would copy each, for every word of everybody."""
    return {name: getattr(item, name) for name in item.__slots__}


def tell_on_commit(*news: News) -> None:
    """Ring once the rows can be read; for synchronous code. Where a loop is at hand, it rings, and
    nobody waits for it."""
    transaction.on_commit(lambda: _tell(news))


def _tell(news: Sequence[News]) -> None:
    ringing = loop.get()
    if ringing is not None and ringing.is_running():
        asyncio.run_coroutine_threadsafe(tell(*news), ringing)
    else:
        async_to_sync(tell)(*news)


def on_sessions_ended(
    sender: Any, *, user_id: str, session_keys: list[str] | None, **kwargs: Any
) -> None:
    """Signal receiver: close the sockets of ended sessions."""
    tell_on_commit(SessionsEnded(owner=user_id, session_keys=session_keys))
