"""One web process's ear: hears the doorbell once and fans out in memory to its readers."""

from __future__ import annotations

import asyncio
import weakref

from chat.live.fanout import Hub

__all__ = ["Hub", "hub"]

_hubs: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, Hub] = weakref.WeakKeyDictionary()


def hub() -> Hub:
    """The hub of the running event loop."""
    loop = asyncio.get_running_loop()
    if loop not in _hubs:
        _hubs[loop] = Hub()
    _hubs[loop].start()
    return _hubs[loop]
