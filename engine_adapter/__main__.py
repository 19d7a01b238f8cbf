"""``python -m engine_adapter serve``: the engine host, an OpenAI-compatible server.

Knows how to start and stop; what is served is in ``bundled``.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import ipaddress
import logging
import resource
import signal
import socket
import stat
import sys
from collections.abc import AsyncIterator
from dataclasses import fields
from pathlib import Path

import uvicorn
from starlette.applications import Starlette

from engine_adapter.bundled.attention import AUTO, CACHE_TYPES, FLASH_ATTENTION
from engine_adapter.bundled.config import Settings
from engine_adapter.bundled.connection import Connection
from engine_adapter.bundled.host import BundledEngine
from engine_adapter.bundled.server import create_app
from engine_adapter.engine import Engine
from engine_adapter.scripted import ScriptedEngine

# A model's own file says what is different for it alone, whether it is pinned for one.
HELP = {
    "slots": "answers written at once by one model",
    "context": "tokens of the longest prompt and answer together",
    "threads": "threads of one model; one a core where it is not said",
    "queue": "requests that may wait for a model",
    "batch": "most tokens computed in one step",
    "step_s": "seconds a step aims at while an answer is being written",
    "deadline_s": "longest time for an answer, the line included, in seconds",
    "cache_mib": "memory for the states of prompts that were read",
    "cache_disk_mib": "as much more on disk, encrypted; 0 is none",
    "kv_type": f"how keys and values are stored: {', '.join([AUTO, *CACHE_TYPES])}",
    "flash_attention": ", ".join(FLASH_ATTENTION),
    "gpu_layers": "layers that a build with a GPU puts there; -1 is all",
    "idle_s": "seconds without a request after which a model is unloaded; 0 is never",
    "spin": "how often an idle OpenMP thread looks before it sleeps",
    "hang_s": "seconds without a sign of life after which a model's process is started again",
}
MEMORY = "most memory of all models together; 0 is what the machine gives"
DRAIN_S = 2  # for clients to take the last frames after SIGTERM


class CannotStart(Exception):
    """The command line or the machine does not allow it; the text is for the administrator."""


def main(arguments: list[str] | None = None) -> int:
    """Serve until SIGTERM or SIGINT. Returns the exit status."""
    options = _parser().parse_args(arguments)
    logging.basicConfig(level=logging.INFO, format="%(levelname)s %(name)s: %(message)s")
    try:
        engine = _engine(options)
        listener = _listen(options)
    except (CannotStart, ValueError) as reason:
        print(f"The engine host does not start. {reason}", file=sys.stderr)
        return 1
    try:
        _serve(engine, listener)
    finally:
        listener.close()
        if options.socket:
            options.socket.unlink(missing_ok=True)
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m engine_adapter", description=__doc__)
    serve = parser.add_subparsers(required=True, metavar="serve").add_parser(
        "serve", help="serve the models of a directory"
    )
    what = serve.add_mutually_exclusive_group(required=True)
    what.add_argument("--models", type=Path, metavar="DIR", help="directory with *.gguf files")
    what.add_argument("--scripted", type=Path, metavar="FILE", help="play a script, no model")
    serve.add_argument("--socket", type=Path, metavar="PATH", help="listen on a Unix socket")
    serve.add_argument("--host", default="127.0.0.1")
    serve.add_argument("--port", type=int)
    serve.add_argument("--allow-remote", action="store_true", help="allow other machines to ask")
    serve.add_argument("--memory-mib", type=int, default=0, metavar="N", help=MEMORY)
    for field in fields(Settings):
        if field.name in HELP:
            kind = {"str": str, "float": float}.get(str(field.type), int)
            option, text = f"--{field.name.replace('_', '-')}", HELP[field.name]
            serve.add_argument(option, type=kind, default=field.default, metavar="N", help=text)
    return parser


def _engine(options: argparse.Namespace) -> Engine:
    if options.scripted:
        return ScriptedEngine.from_file(options.scripted)
    if not options.models.is_dir():
        raise CannotStart(f"There is no directory {options.models}.")
    if options.memory_mib < 0:
        raise CannotStart("--memory-mib must be 0 (no limit) or a number of MiB.")
    settings = Settings(**{name: getattr(options, name) for name in HELP})
    return BundledEngine(options.models, settings, options.memory_mib << 20 or None)


def _listen(options: argparse.Namespace) -> socket.socket:
    """The bound socket. A stale socket file is replaced, a live one is not."""
    if options.socket:
        return _listen_on_path(options.socket)
    if options.port is None:
        raise CannotStart("It needs --socket PATH or --port N.")
    if not options.allow_remote and not _is_loopback(options.host):
        raise CannotStart(
            f"{options.host} can be reached from other machines, and nobody is asked for a"
            " password here. Add --allow-remote if that is meant."
        )
    family = socket.AF_INET6 if ":" in options.host else socket.AF_INET
    listener = socket.socket(family)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((options.host, options.port))
    except (OSError, OverflowError) as error:
        listener.close()
        raise CannotStart(f"{options.host}:{options.port} cannot be used: {error}.") from None
    return listener


def _listen_on_path(path: Path) -> socket.socket:
    listener = socket.socket(socket.AF_UNIX)
    try:
        if path.exists() or path.is_symlink():
            if not stat.S_ISSOCK(path.lstat().st_mode):
                raise CannotStart(f"{path} exists and is no socket.")
            with socket.socket(socket.AF_UNIX) as probe:
                if probe.connect_ex(str(path)) == 0:
                    raise CannotStart(f"Another engine host listens on {path}.")
            path.unlink()
        listener.bind(str(path))
    except OSError as error:
        listener.close()
        raise CannotStart(f"{path} cannot be used: {error.strerror or error}.") from None
    except CannotStart:
        listener.close()
        raise
    return listener


def _is_loopback(host: str) -> bool:
    with contextlib.suppress(ValueError):
        return ipaddress.ip_address(host).is_loopback
    return host == "localhost"


class _Server(uvicorn.Server):
    """Ends the answers before the connections, so that each gets its last word."""

    def __init__(self, config: uvicorn.Config, engine: Engine) -> None:
        super().__init__(config)
        self._engine = engine

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Called once, on the first signal."""
        await self._engine.aclose()
        await super().shutdown(sockets)


def server_of(engine: Engine) -> uvicorn.Server:
    """What serves the engine, and ends it when it is told to stop."""

    @contextlib.asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        if isinstance(engine, BundledEngine):
            await engine.start()
        yield

    config = uvicorn.Config(
        create_app(engine, lifespan),
        http=Connection,
        access_log=False,
        log_config=None,
        log_level="warning",
        lifespan="on",
        server_header=False,
        timeout_graceful_shutdown=DRAIN_S,
    )
    return _Server(config, engine)


def _serve(engine: Engine, listener: socket.socket) -> None:
    server = server_of(engine)
    # uvicorn raises the signal again when it is done; there is still a socket file to remove.
    signal.signal(signal.SIGTERM, lambda *_: None)
    _allow_connections()
    with (
        contextlib.suppress(KeyboardInterrupt),
        asyncio.Runner(loop_factory=server.config.get_loop_factory()) as runner,
    ):
        runner.run(server.serve(sockets=[listener]))


def _allow_connections() -> None:
    """As many open files as the machine lets us have: each client is one."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    with contextlib.suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


if __name__ == "__main__":
    sys.exit(main())
