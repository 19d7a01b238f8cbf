"""What every test may ask for; the services themselves are in services.py."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from django.utils import translation

from tests.people import People, move_in


@pytest.fixture(scope="session")
def django_db_modify_db_settings(postgres_server: object) -> None:
    """The test database is made on the server that is started for it."""


@pytest.fixture
def people(db: None) -> People:
    """Alice, bob, mallory and an administrator, just moved in."""
    return move_in()


@pytest.fixture(autouse=True)
def _own_language() -> Iterator[None]:
    """A page in Turkish leaves its language to the thread; the next test begins anew."""
    yield
    translation.deactivate()
