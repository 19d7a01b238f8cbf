"""Which engine answers at an address, how that is known, and why one that does not is none."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from engine_adapter.errors import Cause
from engine_adapter.remote.client import Timeouts
from engine_adapter.remote.detection import Found, look
from engine_adapter.remote.kinds import ADAPTERS, Kind
from tests.conformance.server import Call, Reply, Stream, of, serving
from tests.talks import talking
from tests.unit.engine_remote.certificates import self_made
from tests.unit.engine_remote.imitated import pair
from tests.unit.engine_remote.replay import Reply as Raw
from tests.unit.engine_remote.replay import golden, plain, serve

SHORT = Timeouts(connect_s=1, first_s=0.3, between_s=0.3, reply_s=0.3)
HOW: dict[Kind, str] = {
    "llamacpp": "header Server: llama.cpp",
    "ollama": "says that Ollama is running",
    "lmstudio": "greets as LM Studio",
    "vllm": "models owned by vllm",
    "sglang": "models owned by sglang",
    "trtllm": "models owned by tensorrt_llm",
    "llmd": "header x-went-into-resp-headers",
    "openai": "lists models as OpenAI does",
}


VERSIONS = {"llamacpp": "b1-0c1e570", "ollama": "0.33.0", "vllm": "0.32.0", "trtllm": "1.3.0"}


@pytest.mark.parametrize("kind", ADAPTERS)
async def test_every_kind_is_found_and_it_is_said_how(kind: Kind) -> None:
    async with pair(kind) as it:
        found = await look(it.notes.url)
        assert (found.kind, found.error) == (kind, None)
        assert found.facts[-1].sign == HOW[kind]
        assert found.facts[-1].status == 200
        assert found.version == VERSIONS.get(kind)
        assert {call.method for call in it.notes.calls} == {"GET"}


@pytest.mark.parametrize(
    ("name", "kind"), [("llamacpp", "llamacpp"), ("vllm_cpu", "vllm"), ("sglang_cpu", "sglang")]
)
async def test_recorded_engines_are_found_by_their_lists_alone(name: str, kind: Kind) -> None:
    async with serve(golden(name, "models")) as server:
        found = await look(server.url + "/v1")
    assert found.kind == kind


class Site:
    """Answers each path as it is told, and all others with ``rest``."""

    def __init__(self, rest: Reply, **routes: Reply) -> None:
        self.rest, self.routes = rest, routes

    async def reply(self, call: Call) -> Reply | Stream:
        return self.routes.get(call.path.strip("/").replace("/", "_"), self.rest)


async def seen(site: Site) -> Found:
    async with serving(site) as notes:
        return await look(notes.url)


async def test_an_imitated_route_of_ollama_is_not_taken_for_it() -> None:
    # SGLang has them all, and says of itself that it is running.
    site = Site(
        of({}, 404),
        v1_models=of({"data": [{"id": "a", "owned_by": "somebody"}]}),
        api_tags=of({"models": []}),
        api_version=of({"version": "0.1"}),
        **{"": Reply(200, b'"SGLang is running"')},
    )
    assert (await seen(site)).kind == "sglang"


async def test_what_only_lists_models_is_some_server_of_the_dialect() -> None:
    found = await seen(Site(of({}, 404), v1_models=of({"data": []})))
    assert (found.kind, found.error) == ("openai", None)


async def test_a_locked_vllm_is_found_and_its_lock_is_told() -> None:
    locked = of({"error": "Unauthorized"}, 401)
    found = await seen(Site(locked, version=of({"version": "0.32.0"})))
    assert (found.kind, found.version) == ("vllm", "0.32.0")
    assert found.error is not None
    assert found.error.cause == "key"


async def test_a_key_is_sent_to_the_address_it_was_entered_for() -> None:
    async with serve(plain("200 OK", b'{"data": []}')) as server:
        await look(server.url, api_key="k1")
    assert all(b"authorization: bearer k1" in request.lower() for request in server.requests)


BAD: dict[str, tuple[Raw, Cause | None]] = {
    "a web page": (plain("200 OK", b"<!DOCTYPE html><html>secret</html>"), "path"),
    "a web page, not found": (plain("404 Not Found", b"<html>secret</html>"), "path"),
    "some other JSON": (plain("200 OK", b'{"secret": 1}'), "dialect"),
    "a redirect": (plain("302 Found", b"", "Location: https://secret.example/"), "redirect"),
    "no key": (plain("401 Unauthorized"), "key"),
    "a wrong key": (plain("403 Forbidden"), "key"),
    "nothing behind": (plain("502 Bad Gateway", b"<html>"), "gateway"),
    "silence": (Raw(b"", stay=True), "silent"),
    "silence in the middle": (
        Raw(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n", [b"{"], stay=True),
        "silent",
    ),
    "no HTTP": (Raw(b"220 mail.example ESMTP\r\n", stay=True), "tls"),
    "a line without end": (
        Raw(b"HTTP/1.1 200 OK\r\n\r\n", [b"x" * 65536] * 70, stay=True),
        "too_much",
    ),
    "a hang-up": (Raw(b"", reset=True), None),
    "another packing": (plain("200 OK", b"x", "Content-Encoding: br"), "gateway"),
}


@pytest.mark.parametrize("what", BAD)
async def test_what_is_wrong_with_an_address_has_a_cause(what: str) -> None:
    reply, cause = BAD[what]
    async with serve(reply) as server:
        found = await look(server.url, timeouts=SHORT)
    assert found.kind is None
    assert found.error is not None
    assert found.error.cause == cause
    assert "secret" not in str(found.error)


async def cause_at(address: str, **how: Any) -> Cause | None:
    found = await look(address, timeouts=SHORT, **how)
    assert (found.kind, found.facts) == (None, ())
    assert found.error is not None
    return found.error.cause


async def test_a_host_that_nobody_knows_and_a_door_that_is_shut(tmp_path: Path) -> None:
    async with serve(plain("200 OK")) as server:
        shut = server.url
    assert await cause_at(shut) == "closed"
    assert await cause_at(f"unix://{tmp_path}/none.sock") == "closed"
    assert await cause_at("http://no-such-host.invalid:1") == "name"


async def _says_no(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await reader.read(9)
    writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
    await writer.drain()


async def test_what_can_be_wrong_with_tls(tmp_path: Path) -> None:
    async with talking(_says_no) as plain_server:
        port = plain_server.sockets[0].getsockname()[1]
        assert await cause_at(f"https://127.0.0.1:{port}") == "tls"
    async with self_made(tmp_path, plain("200 OK", b'{"data": []}')) as port:
        assert await cause_at(f"https://127.0.0.1:{port}") == "certificate"
        found = await look(f"https://127.0.0.1:{port}", ca_file=str(tmp_path / "cert.pem"))
        assert (found.kind, found.error) == ("openai", None)
        # The same certificate for another name.
        assert await cause_at(f"https://localhost:{port}", ca_file=str(tmp_path / "cert.pem")) in {
            "certificate",
            "closed",
        }
        assert await cause_at(f"http://127.0.0.1:{port}") in {"tls", None}


async def test_a_wrong_address_is_a_sentence() -> None:
    with pytest.raises(ValueError, match=r"^The [^\n]+\.$"):
        await look("engine.example:8000")
