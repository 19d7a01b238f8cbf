"""Integration tests have Valkey; PostgreSQL comes with the database marker."""

from __future__ import annotations

import pytest


@pytest.fixture(scope="session", autouse=True)
def _valkey(valkey_server: str) -> None:
    """The channel layer and the queue work."""
