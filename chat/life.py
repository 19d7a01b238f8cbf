"""A process's sign of life for whoever watches it: a file, touched every two seconds.

Where no file is named (``KONAK_SIGN_OF_LIFE``) nothing is touched.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from pathlib import Path

from django.conf import settings

EVERY_S = 2.0


async def show() -> None:
    """As long as the event loop turns; until cancelled."""
    while True:
        _touch()
        await asyncio.sleep(EVERY_S)


def show_in_thread() -> None:
    """As long as threads of this process get their turn; for ever."""
    while True:
        _touch()
        time.sleep(EVERY_S)


def _touch() -> None:
    if settings.SIGN_OF_LIFE:
        with contextlib.suppress(OSError):  # the disk may be full; then it is touched later
            Path(settings.SIGN_OF_LIFE).touch()
