"""Bad input and bad manners over HTTP, at a real host with a real model: each gets an answer, and
afterwards the host serves the next as if nothing had been."""

from __future__ import annotations

import asyncio
import contextlib
import json
import resource
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.integration.engine_hosts import Host, running_host
from tests.integration.engine_http import MODEL, asking, client_of, endless

SLOTS, CONTEXT, QUEUE = 4, 512, 40
MANY = 1000


@pytest.fixture(scope="module")
def host(starter_model: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Host]:
    """A host that is started with few open files allowed, as by many a service manager."""
    models = tmp_path_factory.mktemp("models")
    (models / f"{MODEL}.gguf").symlink_to(starter_model)
    size = ("--slots", str(SLOTS), "--context", str(CONTEXT), "--queue", str(QUEUE))
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    with contextlib.ExitStack() as stack:
        resource.setrlimit(resource.RLIMIT_NOFILE, (256, hard))
        try:
            run = running_host(tmp_path_factory.mktemp("host"), "--models", models, *size)
            host = stack.enter_context(run)
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        yield host


@pytest.fixture
async def http(host: Host) -> AsyncIterator[httpx.AsyncClient]:
    async with client_of(host) as client:
        yield client
        assert (await client.get("/health")).json() == {"status": "ok"}
        # A worker checks its books when nothing is left to do, and ends where they do not balance.
        await served(client)
        assert f'konak:worker_deaths_total{{model_name="{MODEL}"}} 0\n' in await counts(client)
    assert host.process.poll() is None
    assert "Traceback" not in host.log.read_text()


async def counts(client: httpx.AsyncClient) -> str:
    return (await client.get("/metrics")).text


async def served(client: httpx.AsyncClient) -> None:
    """The host answers; who just left may still be being cleared away."""
    while True:
        reply = await client.post("/v1/chat/completions", json=asking("Count.", max_tokens=2))
        if reply.status_code != 429:
            break
        await asyncio.sleep(0.05)
    assert reply.json()["usage"]["completion_tokens"] == 2


def nested(levels: int, inside: str = "1") -> bytes:
    """A request whose ``stop`` is a list in a list in a list."""
    body = json.dumps(asking(stop="@"))
    return body.replace('"@"', "[" * levels + inside + "]" * levels).encode()


def schema_of(levels: int) -> bytes:
    form = {"type": "json_schema", "json_schema": {"name": "n", "schema": "@"}}
    deep = '{"properties":{"a":' * levels + "{}" + "}}" * levels
    return json.dumps(asking(response_format=form)).replace('"@"', deep).encode()


def written(**more: str) -> bytes:
    """A request with values as they are written, which need not be JSON."""
    fields = "".join(f', "{name}": {value}' for name, value in more.items())
    return (json.dumps(asking(max_tokens=1))[:-1] + fields + "}").encode()


@pytest.mark.parametrize(
    "content",
    [
        nested(100_000), nested(900), nested(3), schema_of(40), schema_of(450), schema_of(100_000),
        written(temperature="NaN"), written(temperature="-0.1"), written(temperature="1e999"),
        written(temperature="Infinity"), written(top_p="-Infinity"), written(top_k="-5"),
        written(min_p="1e300"), written(repetition_penalty="0"), written(seed="9" * 5000),
        written(logit_bias='{"-1": 5}'), written(logit_bias='{"99999999999": 5}'),
        written(logit_bias='{"1": NaN}'), written(n="1000"), written(n="-1"),
        written(max_tokens="0"), written(public_turns="7"), written(deadline_s="-1"),
        written(stop='["' + "x" * 300 + '"]'), written(tools='[{"type": "function"}]'),
        b"", b"\0" * 1000, b"\xff" * 1000, b'{"model": ' + b" " * 1_000_000,
    ],
    ids=lambda content: content[:70].decode("latin-1"),
)  # fmt: skip
async def test_what_cannot_be_meant_is_refused(http: httpx.AsyncClient, content: bytes) -> None:
    reply = await http.post("/v1/chat/completions", content=content)
    assert reply.status_code == 400, reply.text[:300]
    error = reply.json()["error"]
    assert error["code"] == "bad_request"
    assert set(error) == {"message", "type", "param", "code"}
    assert len(error["message"]) < 200


def formed(schema: Any) -> Any:
    form = {"type": "json_schema", "json_schema": {"name": "n", "schema": schema}}
    return {"response_format": form}


@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"logit_bias": {"49152": 5}}, "names a token that is none of 49152"),
        ({"logit_bias": {"2147483647": 5}}, "names a token that is none of 49152"),
        (formed({"type": "colour"}), "colour"),
        (formed({"$ref": "#"}), "no text can ever fulfil it"),
        (formed({"type": "string", "pattern": "(?=a)"}), "pattern"),
        (formed({"type": "string", "maxLength": 99_999_999}), "schema"),
        ({"grammar": 'root ::= root "a" | "a"'}, "grammar"),
        ({"grammar": "root ::= ("}, "grammar"),
        ({"grammar": 'leaf ::= "a"'}, "grammar"),
    ],
    ids=str,
)
async def test_what_the_model_cannot_do_is_refused(
    http: httpx.AsyncClient, wrong: dict[str, Any], words: str, stream: bool
) -> None:
    reply = await http.post("/v1/chat/completions", json=asking(stream=stream, **wrong))
    error = reply.json()["error"]
    assert (reply.status_code, error["code"]) == (400, "refused")
    assert words in error["message"]
    assert set(error) == {"message", "type", "param", "code"}


@pytest.mark.parametrize("announced", [True, False])
@pytest.mark.parametrize("path", ["/v1/chat/completions", "/v1/embeddings", "/v1/nothing"])
async def test_ten_megabytes_are_too_much(host: Host, path: str, announced: bool) -> None:
    async def pieces() -> AsyncIterator[bytes]:
        for _ in range(10):
            yield b"x" * (1 << 20)

    content: Any = b"x" * (10 << 20) if announced else pieces()
    async with client_of(host) as http:
        reply = await http.post(path, content=content)
        assert reply.status_code == (404 if "nothing" in path else 413)
        assert (await http.get("/health")).status_code == 200


async def test_a_thousand_at_once_are_all_answered(http: httpx.AsyncClient, host: Host) -> None:
    body = json.dumps(asking(max_tokens=2, stream=True))
    request = (
        "POST /v1/chat/completions HTTP/1.1\r\nHost: engine\r\nConnection: close\r\n"
        f"Content-Length: {len(body)}\r\n\r\n{body}"
    ).encode()
    lines = await asyncio.gather(
        *(asyncio.open_unix_connection(str(host.socket)) for _ in range(MANY))
    )
    # All are connected before the first asks.
    for _, writer in lines:
        writer.write(request)
    replies = await asyncio.gather(*(reader.read() for reader, _ in lines))
    for _, writer in lines:
        writer.close()
    statuses = Counter(reply.split(b" ", 2)[1] for reply in replies)
    assert set(statuses) == {b"200", b"429"}, statuses
    assert statuses[b"200"] >= SLOTS + QUEUE
    for reply in replies:
        if reply.startswith(b"HTTP/1.1 200"):
            assert b"data: [DONE]" in reply
        else:
            assert b"retry-after: " in reply.lower()
    await served(http)


async def test_who_does_not_read_holds_nobody_up(http: httpx.AsyncClient, host: Host) -> None:
    """More of them than slots, and each answer more than a line holds that is not read: their
    answers are written to the end, so that others' turn comes."""
    body = json.dumps(endless(stream=True, max_tokens=200, logprobs=True, top_logprobs=20))
    request = (
        "POST /v1/chat/completions HTTP/1.1\r\nHost: engine\r\nConnection: close\r\n"
        f"Content-Length: {len(body)}\r\n\r\n{body}"
    ).encode()
    deaf = []
    for _ in range(SLOTS + 1):
        reader, writer = await asyncio.open_unix_connection(str(host.socket))
        writer.transport.pause_reading()  # type: ignore[attr-defined]  # a transport that reads too
        writer.write(request)
        deaf.append((reader, writer))
    await served(http)
    (reader, writer), *others = deaf
    for _, other in others:
        other.transport.abort()
    writer.transport.resume_reading()  # type: ignore[attr-defined]  # as above
    whole = await reader.read()
    assert b"data: [DONE]" in whole
    assert whole.count(b'"content":') > 150
    writer.close()
    await served(http)
