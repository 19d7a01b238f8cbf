"""``manage.py run_generations``: the runner process."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import signal
from typing import Any

import uvloop
from django.core.management.base import BaseCommand

from chat import life
from chat.runner import Runner


async def _run() -> None:
    task = asyncio.ensure_future(Runner().run())
    showing = asyncio.ensure_future(life.show())
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, task.cancel)
    with contextlib.suppress(asyncio.CancelledError):
        await task
    showing.cancel()


class Command(BaseCommand):
    """Writes the answers until it is told to stop, then gives unfinished ones back."""

    requires_system_checks: list[str] = []  # they load every page; tests make them
    help = "Run the answers: claim, stream from the engine, store, tell."

    def handle(self, *args: Any, **options: Any) -> None:
        """Serve until SIGTERM or SIGINT."""
        # What is loaded by now stays: to look through it costs time in the middle of an answer.
        gc.freeze()
        gc.set_threshold(20_000, 10, 20)
        uvloop.run(_run())
