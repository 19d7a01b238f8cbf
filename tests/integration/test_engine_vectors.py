"""Vectors over HTTP, at a real host: made for those who are there to take them."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import httpx
import pytest

from tests.integration.engine_hosts import Host, running_host
from tests.integration.engine_http import client_of

RUNNING = 'vllm:num_requests_running{model_name="vectors"}'
LEFT = 'vllm:request_success_total{model_name="vectors",finished_reason="abort"}'


@pytest.fixture(scope="module")
def host(starter_model: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Host]:
    models = tmp_path_factory.mktemp("models")
    (models / "vectors.gguf").symlink_to(starter_model)
    (models / "vectors.toml").write_text('kind = "embeddings"')
    size = ("--slots", "4", "--context", "512")
    with running_host(tmp_path_factory.mktemp("host"), "--models", models, *size) as host:
        yield host


@pytest.fixture
async def http(host: Host) -> AsyncIterator[httpx.AsyncClient]:
    async with client_of(host) as client:
        yield client


async def test_who_leaves_is_computed_for_no_longer(http: httpx.AsyncClient, host: Host) -> None:
    """A quarter of an hour of work, which the next one would have to share the machine with."""
    body = json.dumps({"model": "vectors", "input": ["word " * 400] * 2048})
    _, writer = await asyncio.open_unix_connection(str(host.socket))
    head = f"POST /v1/embeddings HTTP/1.1\r\nHost: engine\r\nContent-Length: {len(body)}\r\n\r\n"
    writer.write(f"{head}{body}".encode())
    await writer.drain()
    await until_counted(http, f"{RUNNING} 1")
    writer.transport.abort()
    await until_counted(http, f"{LEFT} 1")
    reply = await http.post("/v1/embeddings", json={"model": "vectors", "input": "x"})
    assert len(reply.json()["data"][0]["embedding"]) == 576
    await until_counted(http, f"{RUNNING} 0")


async def until_counted(http: httpx.AsyncClient, line: str) -> None:
    """The worker tells once a second."""
    while line not in (await http.get("/metrics")).text.splitlines():  # noqa: ASYNC110 -- not here
        await asyncio.sleep(0.1)
