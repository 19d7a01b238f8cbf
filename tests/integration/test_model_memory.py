"""The bundled engine's memory on the page: what is pinned, what fits, what is refused and why."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from asgiref.sync import async_to_sync
from django.test import Client

from accounts.models import AuditEntry
from chat import engines
from chat.domain import catalogue, connections, diagnosis, pins, rights
from chat.models import LanguageModel
from chat.runner.catalogue import pin_as_said
from engine_adapter.errors import EngineError
from engine_adapter.remote.host import HostEngine
from tests import gguf
from tests.integration.engine_hosts import running_host
from tests.people import People, browser
from tests.scripts import in_database

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.timeout(150)]

SMALL = ("--slots", "1", "--context", "512", "--cache-mib", "0")
# For one of the starter model with these settings and a little, not for two.
MEMORY = ("--memory-mib", "500")
CUT = "It is cut short"


@pytest.fixture
def folder(tmp_path: Path, starter_model: Path) -> Path:
    """Two good models, one of them too large with its settings; a damaged one; two adapters."""
    models = tmp_path / "models"
    models.mkdir()
    (models / "small.gguf").symlink_to(starter_model)
    (models / "wide.gguf").symlink_to(starter_model)
    (models / "wide.toml").write_text("slots = 200\ncontext = 8192")
    (models / "cut.gguf").write_bytes(gguf.model()[:-9])
    (models / "polite.gguf").write_bytes(gguf.adapter(0.01))
    (models / "polite.toml").write_text('base = "small"')
    (models / "lost.gguf").write_bytes(gguf.adapter(0.01))
    return tmp_path


@contextlib.contextmanager
def house(folder: Path, settings: object) -> Iterator[None]:
    """The engine host, whose models are in the catalogue."""
    with running_host(folder, "--models", folder / "models", *SMALL, *MEMORY) as host:
        settings.ENGINE_URL = f"unix://{host.socket}"
        row = connections.bundled()
        deadline = time.monotonic() + 60
        while (state := async_to_sync(engines.states)([row])[0]).error:
            assert time.monotonic() < deadline, state.error
            time.sleep(0.1)
        catalogue.refresh(row, state.cards.values())
        yield


def told(client: Client, name: str, words: str) -> str:
    """The cell of a model, once it says ``words``."""
    model = LanguageModel.objects.get(name=name)
    deadline = time.monotonic() + 60
    while words not in (cell := client.get(f"/models/{model.pk}/state/").content.decode()):
        assert time.monotonic() < deadline, cell
        time.sleep(0.1)
    return cell


def test_what_fits_is_said_before_it_is_loaded_and_why_not(
    people: People, folder: Path, settings: object
) -> None:
    with house(folder, settings):
        client = browser(people.administrator)
        assert "pin/" in told(client, "small", "in memory")
        too_large = told(client, "wide", "will not load")
        assert "GB" in too_large
        assert "/load/" not in too_large and "/pin/" not in too_large
        damaged = told(client, "cut", "cannot be loaded")
        assert CUT in damaged and "/load/" not in damaged
        offered = set(rights.offered_to(people.alice).values_list("name", flat=True))
        assert offered == {"small", "wide", "polite"}, "nobody else meets what cannot be used"
        assert "not clear which model it is to be laid over" in told(client, "lost", "cannot be")
        adapter = LanguageModel.objects.get(name="polite")
        page = client.get(f"/models/{adapter.pk}/").content.decode()
        assert "laid over small" in page
        small = LanguageModel.objects.get(name="small")
        page = client.get(f"/models/{small.pk}/").content.decode()
        for fact in ("llama", "135 million", "8192 tokens", "In the file", "<dd>\n      30\n"):
            assert fact in page.replace(",", ""), fact
        turkish = browser(people.administrator, headers={"Accept-Language": "tr"})
        assert CUT not in told(turkish, "cut", "cut.gguf")
        wide = LanguageModel.objects.get(name="wide")
        refused = turkish.post(f"/models/{wide.pk}/load/")
        assert refused.status_code == 409
        assert "are free" not in refused.content.decode()
        assert "GB" in refused.content.decode()


def test_a_pin_outlives_the_engine_and_a_pinned_model_is_not_unloaded(
    people: People, folder: Path, settings: object
) -> None:
    row, client = connections.bundled(), browser(people.administrator)
    with house(folder, settings):
        told(client, "small", "in memory")
        small = LanguageModel.objects.get(name="small")
        address = f"/models/{small.pk}"
        assert client.post(f"{address}/pin/").headers["Location"] == "/models/"
        cell = told(client, "small", "pinned in memory")
        assert "that no other model gets" in cell and "/unpin/" in cell
        refused = client.post(f"{address}/unload/", {"query": "q=sma"})
        assert refused.status_code == 409
        assert "It is pinned. Unpin it first." in refused.content.decode()
        wide = LanguageModel.objects.get(name="wide")
        assert client.post(f"/models/{wide.pk}/pin/").status_code == 409
        wide.refresh_from_db()
        assert wide.pinned is None, "what cannot be is not written down"
    small.refresh_from_db()
    assert small.pinned is True
    with house(folder, settings):
        assert "pinned" not in told(client, "small", "in memory"), "it has forgotten"
        async_to_sync(_as_the_runner_does)(row)
        told(client, "small", "pinned in memory")
        client.post(f"{address}/unpin/", {"stay": "yes"})
        assert "/unload/" in told(client, "small", "in memory")
    verbs = AuditEntry.objects.filter(verb__contains="pinned").values_list("verb", flat=True)
    assert sorted(verbs) == ["model.pinned", "model.unpinned"]


def test_two_administrators_who_load_and_unload_at_once(
    people: People, folder: Path, settings: object
) -> None:
    with house(folder, settings):
        client = browser(people.administrator)
        told(client, "small", "in memory")
        for error in filter(None, async_to_sync(_at_once)(settings.ENGINE_URL)):
            assert isinstance(error, EngineError)
            assert error.why, error
            assert diagnosis.of(error).endswith(".")
        small = LanguageModel.objects.get(name="small")
        client.post(f"/models/{small.pk}/load/")
        told(client, "small", "in memory")


async def _at_once(address: str) -> list[BaseException | None]:
    engine = HostEngine(address)
    acts = [
        engine.load_model("small") if turn % 2 else engine.unload_model("small")
        for turn in range(8)
    ]
    try:
        return await asyncio.gather(*acts, return_exceptions=True)
    finally:
        await engine.aclose()


async def _as_the_runner_does(row: object) -> None:
    asked = engines.Engines()
    try:
        engine = asked.of(row)
        await pin_as_said(engine, await in_database(pins.of)(row), await engine.models())
    finally:
        await asked.aclose()
