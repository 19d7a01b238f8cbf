"""The servers under measurement: our own host, llama-server, and the peer in Python.

Each is started for one load with what it needs, and ended by its process id.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import shlex
import signal
import socket
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from pathlib import Path

from tests.bench.client import Endpoint, Json, get
from tests.bench.load import Needs, Site
from tests.bench.machine import ROOT

START_S = 180.0
STOP_S = 15.0
LOOK_S = 0.1
NEVER = -1000.0  # added to a token's logit; JSON has no infinity


class CannotMeasure(Exception):
    """What was asked for cannot be measured; the text is for the person at the console."""


@dataclass(frozen=True, slots=True)
class Setup:
    """What all servers have in common. ``serve`` are further arguments of our own host,
    ``python`` and ``library`` the interpreter and the folder with libllama.so of the peer in
    Python."""

    model: Path
    threads: int
    serve: str = ""
    python: str = sys.executable
    library: Path | None = None


@dataclass(frozen=True, slots=True)
class Command:
    """How one server is started, and where it will listen. ``health`` answers 200 when ready."""

    name: str
    line: list[str]
    endpoint: Endpoint
    health: str = "/health"
    environment: dict[str, str] | None = None
    extra: Json | None = None


Maker = Callable[[Setup, Needs, Path], Command]


def own_host(setup: Setup, needs: Needs, folder: Path) -> Command:
    """Our own engine host on a Unix socket in ``folder``."""
    models = folder / "models"
    models.mkdir()
    (models / f"{setup.model.stem}.gguf").symlink_to(setup.model.resolve())
    path = folder / "engine.sock"
    line = [
        *(sys.executable, "-m", "engine_adapter", "serve"),
        *("--models", str(models), "--socket", str(path)),
        *("--slots", str(needs.slots), "--context", str(needs.context)),
        *("--threads", str(setup.threads), *shlex.split(setup.serve)),
    ]
    return Command("konak", line, Endpoint(path=str(path)))


def llama_server(program: Path) -> Maker:
    """llama.cpp's own server; its libraries may lie beside it."""

    def make(setup: Setup, needs: Needs, folder: Path) -> Command:
        port = free_port()
        if needs.pool:  # without -np there are as many slots as it likes, and they share
            room = ["-c", str(needs.context)]
        else:
            room = ["-np", str(needs.slots), "-c", str(needs.slots * needs.context)]
        line = [
            *(str(program), "-m", str(setup.model), "--host", "127.0.0.1", "--port", str(port)),
            *("-t", str(setup.threads), "-tb", str(setup.threads), *room),
        ]
        beside = beside_library(program)
        return Command("llama-server", line, Endpoint(port=port), environment=beside)

    return make


def python_server(program: Path) -> Maker:
    """``examples/server/server.py`` of llama-cpp-python. It knows no ``ignore_eos``, so what ends
    an answer is forbidden by ``logit_bias``; it reads threads and context from a file."""

    def make(setup: Setup, needs: Needs, folder: Path) -> Command:
        port = free_port()
        total = needs.context if needs.pool else needs.slots * needs.context
        config = {
            "server": {"host": "127.0.0.1", "port": port},
            "model": {
                "path": str(setup.model),
                "alias": "measured",
                "n_ctx": total,
                "n_seq_max": needs.slots,
                "n_batch": 512,
                "n_ubatch": 512,
                "threads": setup.threads,
                "threads_batch": setup.threads,
                "kv_unified": True,
                "store_logits": False,
                "use_mmap": True,
            },
        }
        file = folder / "config.json"
        file.write_text(json.dumps(config))
        library = {"LLAMA_CPP_LIB_PATH": str(setup.library)} if setup.library else {}
        return Command(
            "server.py",
            [setup.python, str(program), "-C", str(file)],
            Endpoint(port=port),
            health="/healthz",
            environment={**os.environ, **library},
            extra={"logit_bias": {str(token): NEVER for token in closing_tokens(setup.model)}},
        )

    return make


PEERS: dict[str, Callable[[Path], Maker]] = {
    "llama-server": llama_server,
    "server.py": python_server,
}


def beside_library(program: Path) -> dict[str, str]:
    """An environment in which a program finds the libraries that lie beside it."""
    known = os.environ.get("LD_LIBRARY_PATH")
    folder = str(program.resolve().parent)
    return {**os.environ, "LD_LIBRARY_PATH": f"{folder}:{known}" if known else folder}


def free_port() -> int:
    """A loopback port that nobody listens on now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def closing_tokens(model: Path) -> list[int]:
    """The tokens that end an answer of this model."""
    command = [sys.executable, "-m", "tests.bench.vocabulary", str(model)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode:
        raise CannotMeasure(f"The vocabulary of {model.name} cannot be read: {done.stderr[-300:]}")
    tokens: list[int] = json.loads(done.stdout)
    return tokens


@contextlib.asynccontextmanager
async def running(command: Command, folder: Path) -> AsyncIterator[Site]:
    """The server as long as the block lasts. Raises ``CannotMeasure`` where it does not start."""
    log = folder / "log"
    process = _spawn(command, log)
    try:
        yield await _ready(command, process, log)
    finally:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(STOP_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _spawn(command: Command, log: Path) -> subprocess.Popen[bytes]:
    with log.open("wb") as output:
        try:
            return subprocess.Popen(
                command.line,
                cwd=ROOT,
                env=command.environment,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                start_new_session=True,  # as a supervisor does; kernels share cores out by session
            )
        except OSError as error:
            raise CannotMeasure(f"{command.line[0]} cannot be run: {error.strerror}.") from None


def _last_words(log: Path) -> str:
    return log.read_text(errors="replace")[-800:]


async def reach(name: str, url: str, *, plain: bool) -> Site:
    """A server that runs already. Raises ``CannotMeasure``."""
    try:
        endpoint = Endpoint.parse(url)
    except ValueError as error:
        raise CannotMeasure(str(error)) from None
    return Site(name, endpoint, await _model(name, endpoint), plain=plain)


async def _ready(command: Command, process: subprocess.Popen[bytes], log: Path) -> Site:
    limit = time.monotonic() + START_S
    while (await get(command.endpoint, command.health)).status != 200:
        if process.poll() is not None or time.monotonic() > limit:
            words = _last_words(log)
            raise CannotMeasure(f"{command.name} does not start. Its last words:\n{words}")
        await asyncio.sleep(LOOK_S)
    model = await _model(command.name, command.endpoint)
    return Site(command.name, command.endpoint, model, extra=command.extra or {})


async def _model(name: str, endpoint: Endpoint) -> str:
    """The first model that a server offers."""
    reply = await get(endpoint, "/v1/models")
    if reply.status != 200:
        raise CannotMeasure(f"{name} tells no models: {reply.error}")
    try:
        return str(json.loads(reply.body)["data"][0]["id"])
    except (ValueError, LookupError, TypeError):
        raise CannotMeasure(f"{name} offers no model.") from None
