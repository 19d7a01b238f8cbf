"""The real parts tests run on: an environment for the settings, PostgreSQL, Valkey, the model.

Loaded before anything else (``-p tests.services``), so that the settings can be imported; started
only when a test asks, so that unit tests start nothing.
"""

from __future__ import annotations

import atexit
import os
import secrets
import shutil
import socket
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

DATA = Path(tempfile.mkdtemp(prefix="konak-tests-"))
atexit.register(shutil.rmtree, DATA, ignore_errors=True)
# As root PostgreSQL runs as another user, who must be able to pass.
DATA.chmod(0o711 if os.geteuid() == 0 else 0o700)

(DATA / "models").mkdir()

for name in [n for n in os.environ if n.startswith("KONAK_")]:
    del os.environ[name]
os.environ.update(
    DJANGO_SETTINGS_MODULE="deploy.settings",
    KONAK_DATA=str(DATA),
    KONAK_DATABASE_URL=f"postgresql://postgres@/konak?host={DATA / 'pg'}",
    KONAK_VALKEY_URL=f"unix://{DATA / 'valkey.sock'}",
    KONAK_MODELS=str(DATA / "models"),
    KONAK_ENGINE_URL=f"unix://{DATA / 'engine.sock'}",
    KONAK_SECRET_KEY=secrets.token_urlsafe(50),
    KONAK_PUBLIC_URL="http://testserver",
)

from deploy.appliance import model, processes, temporary, valkey  # noqa: E402 - needs the above

BROWSERS = ("chromium", "chromium-browser", "google-chrome")


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[str]:
    """A running PostgreSQL with an empty database ``konak``; its URL."""
    with temporary.database(DATA) as url:
        yield url


@pytest.fixture(scope="session")
def valkey_server() -> Iterator[str]:
    """A running Valkey; its URL."""
    program = valkey.program(DATA, DATA / "valkey.log")
    with temporary.running(program, lambda _: answers(valkey.socket(DATA))):
        yield valkey.url(DATA)


@pytest.fixture(scope="session")
def starter_model() -> Path:
    """The starter model, verified; fetched once for this checkout."""
    return model.cached(_run)


@pytest.fixture(scope="session")
def chromium_path() -> str:
    """The browser on the path; deploy/test installs one where it can."""
    found = next(filter(None, map(shutil.which, BROWSERS)), None)
    if not found:
        pytest.fail("No Chromium on the path: run ./deploy/test, or apt install chromium.")
    return found


def answers(path: Path) -> bool:
    """True when somebody listens on the Unix socket."""
    with socket.socket(socket.AF_UNIX) as probe:
        return probe.connect_ex(str(path)) == 0


def _run(program: processes.Program) -> tuple[int, str]:
    return processes.spawn(program).wait(), ""
