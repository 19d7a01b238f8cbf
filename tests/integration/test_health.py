"""Health for machines: alive is alive, and ready says what is missing."""

from __future__ import annotations

import asyncio

import pytest
from django.test import AsyncClient

from tests.integration.test_database_away import gone
from tests.people import People, browser
from tests.scripts import doorbell, engine_host

EVERYTHING = {"database": True, "valkey": True, "engine": True}


async def ready() -> tuple[int, dict[str, object]]:
    response = await AsyncClient().get("/readyz")
    return response.status_code, response.json()


def expected(*missing: str) -> tuple[int, dict[str, object]]:
    state = {name: name not in missing for name in EVERYTHING}
    return (503 if missing else 200), {"ready": not missing, "missing": list(missing), **state}


@pytest.mark.django_db(transaction=True)
async def test_with_everything_there_it_is_ready() -> None:
    async with engine_host():
        assert await ready() == expected()


@pytest.mark.django_db(transaction=True)
async def test_without_an_engine_it_is_not() -> None:
    assert await ready() == expected("engine")


@pytest.mark.django_db(transaction=True)
async def test_without_valkey_it_is_not() -> None:
    with doorbell("unix:///nonexistent/valkey.sock"):
        async with engine_host():
            assert await ready() == expected("valkey")


@pytest.mark.django_db(transaction=True)
def test_without_a_database_only_that_is_missing() -> None:
    async def look() -> tuple[int, dict[str, object]]:
        async with engine_host():
            return await ready()

    with gone():
        assert asyncio.run(look()) == expected("database")


@pytest.mark.django_db(transaction=True)
def test_alive_is_alive_also_without_a_database(people: People) -> None:
    signed_in = browser(people.alice)
    with gone():
        for client in (signed_in, browser()):
            response = client.get("/healthz")
            assert (response.status_code, response.content) == (200, b"ok\n")


@pytest.mark.django_db
def test_health_takes_no_post() -> None:
    for path in ("/healthz", "/readyz"):
        assert browser().post(path).status_code == 405
