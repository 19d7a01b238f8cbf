"""The engine host's life: how it starts, what it refuses, what is left when something is killed."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import socket
import subprocess
import sys
from pathlib import Path

import httpx
import pytest

from engine_adapter.bundled.templates import CHATML
from tests import gguf
from tests.integration.engine_hosts import ROOT, Host, all_gone, running_host
from tests.integration.engine_http import MODEL, asking, client_of, endless, streaming

SMALL = ("--slots", "2", "--context", "512")


@pytest.fixture(scope="module")
def models(starter_model: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with the starter model."""
    folder = tmp_path_factory.mktemp("models")
    (folder / f"{MODEL}.gguf").symlink_to(starter_model)
    return folder


async def test_a_killed_worker_fails_what_runs_and_the_next_request_works(
    models: Path, tmp_path: Path
) -> None:
    with running_host(tmp_path, "--models", models, *SMALL) as host:
        await hit_the_worker(host, signal.SIGKILL)


@pytest.mark.timeout(150)
async def test_a_frozen_worker_is_noticed_and_the_next_request_works(
    models: Path, tmp_path: Path
) -> None:
    quick = ("--hang-s", "6")  # as KONAK_HANG_S hands it on; 30 where nobody says so
    with running_host(tmp_path, "--models", models, *SMALL, *quick) as host:
        await hit_the_worker(host, signal.SIGSTOP)


async def test_a_model_is_loaded_and_unloaded_when_told_but_not_under_an_answer(
    models: Path, tmp_path: Path
) -> None:
    with running_host(tmp_path, "--models", models, *SMALL) as host:
        async with client_of(host) as http:
            async with streaming(http, endless()) as stream:
                await stream.until_text()
                refused = await http.post("/models/unload", json={"model": MODEL})
                assert refused.status_code == 400
                assert "is in use or being loaded" in refused.json()["error"]["message"]
            deadline = asyncio.get_running_loop().time() + 20
            while (await http.post("/models/unload", json={"model": MODEL})).status_code != 200:
                assert asyncio.get_running_loop().time() < deadline
                await asyncio.sleep(0.1)
            assert workers(host) == []
            assert (await http.post("/models/load", json={"model": MODEL})).json() == {
                "success": True
            }
            assert len(workers(host)) == 1
            for wrong in (b"{", b"[]", b'{"model": 1}', b"{}", b"[" * 100_000):
                reply = await http.post("/models/load", content=wrong)
                assert reply.status_code == 400, wrong[:20]
                assert reply.json()["error"]["param"] == "model"
            missing = await http.post("/models/load", json={"model": "no such"})
            assert missing.status_code in {400, 404}
            assert "no such" in missing.json()["error"]["message"]


async def hit_the_worker(host: Host, number: signal.Signals) -> None:
    async with client_of(host) as http:
        async with streaming(http, endless()) as stream:
            await stream.until_text()
            before = host.descendants()
            for pid in workers(host):
                os.kill(pid, number)
            await stream.rest()
        assert stream.frames[-1]["error"]["code"] == "broken"
        assert not stream.done
        reply = await http.post("/v1/chat/completions", json=asking(max_tokens=3))
        assert reply.status_code == 200
        await all_gone(before)


async def test_a_killed_host_leaves_nothing_and_its_socket_is_taken_over(
    models: Path, tmp_path: Path
) -> None:
    arguments = ("--models", models, *SMALL)
    with running_host(tmp_path, *arguments) as first:
        async with client_of(first):
            children = first.descendants()
            assert len(children) == 2  # the worker and its template's process
            second = start("--models", models, "--socket", first.socket)
            assert second.returncode == 1
            assert "Another engine host listens on" in second.stderr
        first.process.kill()
        await all_gone(children)
        assert first.socket.exists()
        with running_host(tmp_path, *arguments) as third:
            async with client_of(third) as http:
                assert (await http.get("/health")).status_code == 200
            third.process.terminate()
            third.process.wait(10)
            assert not third.socket.exists()


async def test_stopping_the_host_ends_running_answers_with_a_word(
    models: Path, tmp_path: Path
) -> None:
    with running_host(tmp_path, "--models", models, *SMALL) as host:
        async with client_of(host) as http, streaming(http, endless()) as stream:
            await stream.until_text()
            children = host.descendants()
            host.process.terminate()
            await stream.rest()
        assert stream.frames[-1]["error"]["message"] == "The engine was stopped."
        assert not stream.done
        assert host.process.wait(10) == 0
        await all_gone(children)
    assert "Traceback" not in host.log.read_text()


async def test_a_worker_is_given_no_secret(
    models: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KONAK_SECRET_KEY", "canary")
    with running_host(tmp_path, "--models", models, *SMALL) as host:
        async with client_of(host):
            assert b"canary" in told(host.process.pid, "environ")
            assert not any(b"canary" in told(pid, "environ") for pid in host.descendants())
            assert b"libllama" not in told(host.process.pid, "maps")
            assert all(b"libllama" in told(pid, "maps") for pid in workers(host))


@pytest.mark.parametrize("asked", [{}, {"deadline_s": 3600}])
async def test_no_answer_takes_longer_than_the_host_allows(
    models: Path, tmp_path: Path, asked: dict[str, int]
) -> None:
    size = ("--slots", "1", "--context", "4096", "--deadline-s", "2")
    with running_host(tmp_path, "--models", models, *size) as host:
        async with client_of(host) as http:
            reply = await http.post("/v1/chat/completions", json=endless(**asked))
    (choice,) = reply.json()["choices"]
    assert choice["finish_reason"] == "length"
    assert choice["message"]["content"]
    assert reply.json()["usage"]["total_tokens"] < 4096


async def test_health_says_what_is_missing_and_models_may_come_later(
    starter_model: Path, tmp_path: Path
) -> None:
    models = tmp_path / "models"
    models.mkdir()
    with running_host(tmp_path, "--models", models, *SMALL) as host:
        transport = httpx.AsyncHTTPTransport(uds=str(host.socket))
        async with httpx.AsyncClient(transport=transport, base_url="http://engine") as http:
            await reachable(host)
            reply = await http.get("/health")
            assert reply.status_code == 503
            assert "There is no model" in reply.json()["error"]["message"]
            (models / "broken.gguf").write_bytes(b"GGUF" + b"\xff" * 100)
            assert (await http.get("/health")).status_code == 503
            shutil.copy(starter_model, models / "new.part")
            (models / "new.part").rename(models / "new.gguf")
            loading = await http.get("/health")
            assert (loading.status_code, "loaded" in loading.text) == (503, True)
        async with client_of(host) as http:
            body = asking(max_tokens=2) | {"model": "new"}
            assert (await http.post("/v1/chat/completions", json=body)).status_code == 200


async def test_a_model_that_llama_cpp_refuses_is_told_with_the_reason(
    starter_model: Path, tmp_path: Path
) -> None:
    models = tmp_path / "models"
    models.mkdir()
    changed_copy(starter_model, models / "odd.gguf", b"llama", b"ilama", 12)
    loop, walk = b"{% for message in messages %}", b"{{ ''.__class__.__mro__ }}   "
    changed_copy(starter_model, models / "sly.gguf", loop, walk, 1)
    with running_host(tmp_path, "--models", models, *SMALL) as host:
        transport = httpx.AsyncHTTPTransport(uds=str(host.socket))
        async with httpx.AsyncClient(
            transport=transport, base_url="http://engine", timeout=60
        ) as http:
            await reachable(host)
            for name, reason in (("odd", "architecture"), ("sly", "chat template")):
                body = asking() | {"model": name}
                reply = await http.post("/v1/chat/completions", json=body)
                assert reply.status_code == 400, reply.text
                assert reason in reply.json()["error"]["message"]


LOOPS_LATER = (
    "{% if messages|length > 3 %}{% for i in range(99999) %}{% for j in range(99999) %}{% endfor %}"
    "{% endfor %}{% endif %}"
)


async def test_a_template_that_loops_ends_its_own_request_alone(
    starter_model: Path, tmp_path: Path
) -> None:
    """It seems harmless while the model is loaded, and loops in a longer conversation."""
    models = tmp_path / "models"
    models.mkdir()
    lay_template(starter_model, models / f"{MODEL}.gguf", LOOPS_LATER + CHATML)
    long = asking(max_tokens=2)
    long["messages"] += [{"role": role, "content": "a"} for role in ("assistant", "user") * 2]
    with running_host(tmp_path, "--models", models, *SMALL) as host:
        async with client_of(host) as http:
            async with streaming(http, endless()) as other:
                await other.until_text()
                reply = await http.post("/v1/chat/completions", json=long)
                assert (reply.status_code, reply.json()["error"]["code"]) == (400, "refused")
                assert "not done after 2 s" in reply.json()["error"]["message"]
                await other.rest()
            assert other.done
            reply = await http.post("/v1/chat/completions", json=asking(max_tokens=2))
            assert reply.status_code == 200


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--models", "/nowhere", "--port", "1"), "There is no directory /nowhere"),
        (("--models", "."), "--socket PATH or --port N"),
        (("--models", ".", "--host", "0.0.0.0", "--port", "1"), "--allow-remote"),
        (("--models", ".", "--socket", "/nowhere/e.sock"), "No such file or directory"),
        (("--models", ".", "--socket", "README.md"), "is no socket"),
        (("--models", ".", "--port", "1", "--slots", "0"), "slots must lie between"),
        (("--scripted", "/nowhere", "--port", "1"), "/nowhere"),
    ],
)
def test_what_cannot_be_started_says_why(arguments: tuple[str, ...], words: str) -> None:
    run = start(*arguments)
    assert run.returncode == 1
    assert words in run.stderr
    assert "Traceback" not in run.stderr


def test_a_port_in_use_says_so() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        run = start("--models", ".", "--port", str(taken.getsockname()[1]))
    assert run.returncode == 1
    assert "cannot be used" in run.stderr


def start(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "engine_adapter", "serve", *arguments]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60)


def changed_copy(model: Path, copy: Path, old: bytes, new: bytes, times: int) -> None:
    assert len(old) == len(new)
    copy.write_bytes(model.read_bytes().replace(old, new, times))


def lay_template(model: Path, copy: Path, template: str) -> None:
    copy.write_bytes(gguf.with_template(model.read_bytes(), template))


def told(pid: int, what: str) -> bytes:
    return Path(f"/proc/{pid}/{what}").read_bytes()


def workers(host: Host) -> list[int]:
    return [
        pid
        for pid in host.descendants()
        if b"engine_adapter.bundled.worker" in told(pid, "cmdline")
    ]


async def reachable(host: Host) -> None:
    while True:
        with socket.socket(socket.AF_UNIX) as probe:
            if probe.connect_ex(str(host.socket)) == 0:
                return
        assert host.process.poll() is None, host.log.read_text()
        await asyncio.sleep(0.05)
