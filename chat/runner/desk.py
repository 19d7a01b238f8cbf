"""A thread with a connection to PostgreSQL of its own, kept from one call to the next.

The hot path of every word goes through here: nothing is checked out, checked and given back.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import ParamSpec, TypeVar

import psycopg
from django.db import Error as DatabaseError
from django.db import connection

P = ParamSpec("P")
R = TypeVar("R")


class Desk:
    """Does one thing after the other. After a failure of the database the next has a new line."""

    def __init__(self, name: str) -> None:
        self._thread = ThreadPoolExecutor(1, thread_name_prefix=name)

    async def do(self, verb: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
        """The result of ``verb``, which is synchronous and may use the database."""
        call = partial(verb, *args, **kwargs)
        return await asyncio.get_running_loop().run_in_executor(self._thread, _do, call)

    async def aclose(self) -> None:
        """Give the connection back."""
        await self.do(_hang_up)
        self._thread.shutdown(wait=False)


def _hang_up() -> None:
    connection.close()  # looked up in the thread that is to close its own


def _do(call: Callable[[], R]) -> R:
    try:
        return call()
    except (DatabaseError, psycopg.Error):
        connection.close()
        raise
