"""A file before it is served: what is found in it, over the host's HTTP as the house asks."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import httpx
import pytest

from engine_adapter import arriving
from engine_adapter.arriving import Inspected
from engine_adapter.bundled.config import Settings
from engine_adapter.bundled.host import BundledEngine
from engine_adapter.bundled.server import create_app
from engine_adapter.script import Rule, Script
from engine_adapter.scripted import ScriptedEngine
from tests import gguf

SMALL = Settings(slots=2, context=512, cache_mib=0)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Where a model's file has arrived."""
    (tmp_path / "incoming").mkdir()
    (tmp_path / "incoming" / "1.part").write_bytes(gguf.model())
    return tmp_path


@pytest.fixture
async def http(folder: Path) -> AsyncIterator[httpx.AsyncClient]:
    """A host of that folder, with memory for 200 MB of models."""
    engine = BundledEngine(folder, SMALL, memory=200_000_000)
    transport = httpx.ASGITransport(create_app(engine))
    async with httpx.AsyncClient(transport=transport, base_url="http://engine") as client:
        yield client


async def look(
    http: httpx.AsyncClient, file: str = "1.part", name: str = "small.gguf"
) -> Inspected:
    reply = await http.post("/models/inspect", json={"file": file, "name": name})
    assert reply.status_code == 200, reply.text
    return arriving.from_json(reply.json())


async def test_the_head_and_the_memory_are_told(http: httpx.AsyncClient) -> None:
    found = await look(http)
    assert (found.name, found.quantization, found.kind) == ("Küçük", "Q4_1", "text")
    assert found.facts and found.facts.architecture == "llama"
    assert found.outlook and found.outlook.verdict == "fits"
    assert 140_000_000 < found.outlook.need_bytes < found.outlook.free_bytes <= 200_000_000


async def test_settings_under_its_future_name_count(folder: Path, http: httpx.AsyncClient) -> None:
    (folder / "small.toml").write_text("cache_mib = 100")
    found = await look(http)
    assert found.outlook and found.outlook.verdict == "never"
    (folder / "small.toml").write_text("slot = 1")
    found = await look(http)
    assert found.why and found.why.code == "settings_bad"
    assert (await look(http, name="other.gguf")).why is None


@pytest.mark.parametrize(
    ("data", "code"), [(b"", "cut_in_middle"), (b"MZ" * 40, "not_gguf"),
                       (gguf.model()[:-1], "cut_short")],
)  # fmt: skip
async def test_what_is_no_model_is_said(
    folder: Path, http: httpx.AsyncClient, data: bytes, code: str
) -> None:
    (folder / "incoming" / "1.part").write_bytes(data)
    found = await look(http)
    assert found.why and found.why.code == code
    assert found.size_bytes == len(data)
    assert found.facts is None and found.outlook is None


async def test_an_adapter_tells_no_memory(folder: Path, http: httpx.AsyncClient) -> None:
    (folder / "incoming" / "1.part").write_bytes(gguf.adapter(1.0, width=32, layers=1))
    found = await look(http)
    assert found.is_adapter and found.outlook is None


@pytest.mark.parametrize("name", ["../1.part", "/etc/passwd", "..", "", "a\0b", "a/b"])
async def test_nothing_outside_the_folder_is_looked_at(
    folder: Path, http: httpx.AsyncClient, name: str
) -> None:
    (folder / "1.part").write_bytes(gguf.model())
    for file, to in ((name, "small.gguf"), ("1.part", name)):
        reply = await http.post("/models/inspect", json={"file": file, "name": to})
        assert reply.status_code == 400
    assert (await look(http, "none.part")).why is not None


async def test_what_is_not_asked_rightly_is_refused(http: httpx.AsyncClient) -> None:
    for body in (b"", b"[]", b"{}", b'{"file": 1, "name": "x"}', b'{"file": "x"}', b"nul"):
        assert (await http.post("/models/inspect", content=body)).status_code == 400
    engine = ScriptedEngine(Script(default=Rule(("x",))))
    transport = httpx.ASGITransport(create_app(engine))
    async with httpx.AsyncClient(transport=transport, base_url="http://engine") as client:
        asked = {"file": "1.part", "name": "small.gguf"}
        assert (await client.post("/models/inspect", json=asked)).status_code == 501


@pytest.mark.parametrize("told", [None, 7, [], {}, {"why": None, "facts": 1, "outlook": None}])
def test_nonsense_of_a_host_is_no_finding(told: object) -> None:
    with pytest.raises(ValueError, match="not what was found"):
        arriving.from_json(told)
