"""The whole appliance as a person starts it, and a browser. A console error fails the test.

The appliance is started once; each test has people and conversations of its own.
"""

from __future__ import annotations

import tempfile
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import psycopg
import pytest
from playwright.async_api import Browser, async_playwright

from tests.appliance import Appliance
from tests.e2e.house import House, furnish
from tests.e2e.visitor import Visitor

CHROMIUM = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
OUTPUT = Path(__file__).parent / "output"


@pytest.fixture(scope="session")
def appliance(starter_model: Path) -> Iterator[Appliance]:
    """``deploy/up`` on fresh data, running until the end of the session."""
    # Not pytest's own folder: another run beside this one closes it to other users, and as root
    # PostgreSQL is one.
    with tempfile.TemporaryDirectory(prefix="konak-house-") as data:
        # A small model likes to go on for ever; 200 tokens are long enough to be caught in the act.
        running = Appliance(Path(data), starter_model, KONAK_ANSWER_MAX_TOKENS="200")
        running.start()
        yield running
        assert running.stop() == 0


@pytest.fixture(scope="session")
def house(appliance: Appliance) -> House:
    """The appliance with its first administrator, alice, bob and mallory."""
    return furnish(appliance)


@pytest.fixture
def database(appliance: Appliance) -> Iterator[psycopg.Connection]:
    """A look at the rows, past the product."""
    socket = appliance.data / "run" / "postgres"
    with psycopg.connect(
        f"host={socket} user=postgres dbname=konak", autocommit=True
    ) as connection:
        yield connection


@pytest.fixture
async def browser(chromium_path: str) -> AsyncIterator[Browser]:
    """A fresh Chromium."""
    async with async_playwright() as playwright:
        chromium = await playwright.chromium.launch(executable_path=chromium_path, args=CHROMIUM)
        yield chromium
        await chromium.close()


@pytest.fixture
async def visitor(browser: Browser, house: House) -> AsyncIterator[Visitor]:
    """Opens browser windows for people of the house, and complains at the end."""
    opened = Visitor(browser, house)
    yield opened
    await opened.leave()
    assert not opened.complaints, "\n".join(opened.complaints)


@pytest.fixture(scope="session")
def output() -> Path:
    """Where pictures go."""
    OUTPUT.mkdir(exist_ok=True)
    return OUTPUT
