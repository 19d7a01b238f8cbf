"""An engine that listens on a port of this machine, as an engine of the house elsewhere does."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import threading
from collections.abc import Iterator

import uvicorn

from engine_adapter.bundled.server import create_app
from engine_adapter.engine import Engine
from engine_adapter.script import Script
from engine_adapter.scripted import ScriptedEngine


@contextlib.contextmanager
def listening(what: Script | Engine) -> Iterator[str]:
    """The address of an engine, or of one that plays this script, until the block ends."""
    engine = ScriptedEngine(what) if isinstance(what, Script) else what
    with socket.socket() as door:
        door.bind(("127.0.0.1", 0))
        door.listen()
        app = create_app(engine)
        server = uvicorn.Server(
            uvicorn.Config(app, log_config=None, lifespan="off", access_log=False)
        )
        serving = threading.Thread(target=lambda: asyncio.run(server.serve(sockets=[door])))
        serving.start()
        try:
            yield f"http://127.0.0.1:{door.getsockname()[1]}"
        finally:
            server.should_exit = True
            serving.join()
