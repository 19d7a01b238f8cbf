"""Engine hosts as real processes, for tests that talk to one or kill one."""

from __future__ import annotations

import asyncio
import contextlib
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from engine_adapter.errors import EngineError
from engine_adapter.remote.host import HostEngine
from tests.appliance import free_port

ROOT = Path(__file__).parents[2]


@dataclass(frozen=True)
class Host:
    """A running ``python -m engine_adapter serve``."""

    process: subprocess.Popen[bytes]
    socket: Path
    log: Path

    async def engine(self) -> HostEngine:
        """A way to talk to the host, once it is ready. To be closed by who asked for it."""
        engine = HostEngine(f"unix://{self.socket}")
        while True:
            try:
                await engine.health()
            except EngineError as error:
                if self.process.poll() is not None:
                    pytest.fail(f"The host ended: {error}\n{self.log.read_text()[-2000:]}")
                await asyncio.sleep(0.05)
            else:
                return engine

    def descendants(self) -> set[int]:
        """The process ids of everything the host has started."""
        found: set[int] = set()
        unread = [self.process.pid]
        while unread:
            children = Path(f"/proc/{unread.pop()}/task").glob("*/children")
            pids = {int(pid) for path in children for pid in path.read_text().split()}
            unread += pids - found
            found |= pids
        return found


async def all_gone(pids: set[int]) -> None:
    """Return when none of the processes lives any more."""
    while True:
        if not any(_lives(pid) for pid in pids):
            return
        await asyncio.sleep(0.05)


def _lives(pid: int) -> bool:
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False
    return stat.rsplit(")", 1)[1].split()[0] != "Z"  # one that waits to be buried is dead


@contextlib.contextmanager
def running_llama_server(folder: Path, model: Path, slots: int, context: int) -> Iterator[str]:
    """The address of llama.cpp's own server as long as the block lasts; its log is in ``folder``.
    It may still be loading its model."""
    port, log = free_port(), folder / "server.log"
    command = [sys.executable, "-m", "tests.llama_server", model.resolve(), port, slots, context]
    with log.open("wb") as output:
        process = subprocess.Popen(
            [str(word) for word in command],
            cwd=ROOT, stdin=subprocess.PIPE, stdout=output, stderr=output,
        )  # fmt: skip
    try:
        yield f"http://127.0.0.1:{port}"
    finally:
        process.kill()  # nothing of it is to be kept
        process.communicate()


@contextlib.contextmanager
def running_host(folder: Path, *arguments: str | Path) -> Iterator[Host]:
    """A host as long as the block lasts, with its socket and log in ``folder``."""
    socket, log = folder / "engine.sock", folder / "host.log"
    command = [sys.executable, "-m", "engine_adapter", "serve", "--socket", socket, *arguments]
    with log.open("wb") as output:
        process = subprocess.Popen(command, cwd=ROOT, stdout=output, stderr=output)
    try:
        yield Host(process, socket, log)
    finally:
        process.terminate()
        try:
            process.wait(15)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
