"""Not a word of a temporary chat is in the database, in Valkey or in the log."""

from __future__ import annotations

import asyncio
import contextlib
import importlib
import logging
from collections.abc import AsyncIterator

import pytest
import redis.asyncio as redis
from django.db import connection

from engine_adapter.script import Rule, Script
from tests import factories
from tests.people import People
from tests.scripts import engine_host, in_database, until
from tests.temporaries import TemporaryPage

pytestmark = pytest.mark.django_db(transaction=True)

SAID, THOUGHT, ASKED = "kingfisher", "dragonfly", "nightjar"
ANSWER = Rule((f"A {SAID} ", "is a bird."), reasoning=(f"The {THOUGHT}?",))
ENDLESS = Rule((f"{SAID} ",) * 9_999, when="for ever", pace=50)
BROKEN = Rule((f"{SAID} ",) * 2, when="break", fail_after=1)
SCRIPT = Script(default=ANSWER, rules=(ENDLESS, BROKEN))
# What a stored question leaves behind, so that looking can be seen to find.
WORDS = (SAID, THOUGHT, ASKED)


@pytest.fixture(autouse=True)
def _served() -> None:
    """The application sets up the log when it is loaded, which would stop pytest from listening."""
    importlib.import_module("deploy.asgi")


def rows() -> str:
    """Every row of every table, as text."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT format('%I.%I', schemaname, tablename) FROM pg_tables"
            " WHERE schemaname NOT IN ('pg_catalog', 'information_schema')"
        )
        tables = [name for (name,) in cursor.fetchall()]
        assert "public.chat_message" in tables and "public.accounts_auditentry" in tables
        found = []
        for table in tables:
            cursor.execute(f"SELECT t::text FROM {table} t")
            found += [row for (row,) in cursor.fetchall()]
    return "\n".join(found).casefold()


@contextlib.asynccontextmanager
async def overheard(url: str) -> AsyncIterator[list[str]]:
    """Every command that Valkey is given meanwhile."""
    heard: list[str] = []
    client = redis.Redis.from_url(url)

    async def listen() -> None:
        async with client.monitor() as monitor:
            heard.append("listening")
            async for command in monitor.listen():
                heard.append(str(command["command"]).casefold())

    task = asyncio.create_task(listen())
    await until(lambda: heard)
    yield heard
    task.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await task
    await client.aclose()


async def test_nothing_of_it_is_found_anywhere(
    people: People, valkey_server: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    await in_database(factories.language_model)()
    async with engine_host(SCRIPT), overheard(valkey_server) as heard:
        async with TemporaryPage(people.alice) as page:
            await page.see(await page.ask(f"Is the {ASKED} a bird?"), state="done")
            assert SAID in page.frames[-1] and THOUGHT in page.frames[-1]
            await page.see(await page.ask(f"{ASKED}: break"), state="interrupted")
            stopped = await page.ask(f"{ASKED}, for ever")
            await page.see(stopped, text=SAID)
            await page.send(act="stop", talk=page.place, text=ASKED)
            await page.see(stopped, state="stopped")
            await page.see(await page.ask(f"{ASKED}, for ever"), text=SAID)
        await in_database(factories.asked)(people.alice, "A question that is kept")
        await until(lambda: any("asked" in command for command in heard))
    stored = await in_database(rows)()
    assert "a question that is kept" in stored and "temporary_chat.begun" in stored
    logged = "\n".join(record.getMessage() for record in caplog.records)
    assert "a temporary answer broken" in logged
    for where in (stored, "\n".join(heard), (logged + caplog.text).casefold()):
        assert not [word for word in WORDS if word in where]
