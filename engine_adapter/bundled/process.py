"""One worker process, seen from the host: started, asked, heard, ended. Never started twice."""

from __future__ import annotations

import asyncio
import itertools
import json
import signal
import socket
import subprocess

from engine_adapter.bundled.child import command, environment
from engine_adapter.bundled.config import Loading
from engine_adapter.bundled.frames import event_from_json, pack, receive, request_to_json
from engine_adapter.errors import Broken
from engine_adapter.types import Event, Failed, Finished, Request

END_S = 2.0


class LoadRefused(Exception):
    """The worker looked at the model and said no; trying again is of no use."""


class WorkerDied(Exception):
    """The process ended before the model was loaded. ``signal`` is what ended it, or None."""

    def __init__(self, message: str, ended_by: int | None) -> None:
        super().__init__(message)
        self.ended_by = ended_by


class WorkerProcess:
    """Use ``load`` once, then ``ask`` and ``cancel``. ``died`` is set when the process is gone."""

    def __init__(self, loading: Loading) -> None:
        self._loading = loading
        self.died = asyncio.Event()
        self.context = 0
        self._ids = itertools.count()
        self._queues: dict[int, asyncio.Queue[Event]] = {}
        self._process: subprocess.Popen[bytes] | None = None
        self._writer: asyncio.StreamWriter | None = None
        self._listener: asyncio.Task[None] | None = None

    async def load(self) -> None:
        """Start the process and return when the model answers. Raises ``LoadRefused``,
        ``WorkerDied``."""
        ours, theirs = socket.socketpair()
        settings = self._loading.settings
        # Our own interpreter and module; in this thread, for the child ends with its starter.
        try:
            with theirs:
                self._process = subprocess.Popen(  # noqa: S603, ASYNC220 - see above
                    command("worker", str(theirs.fileno()), json.dumps(self._loading.as_json())),
                    env=environment(GOMP_SPINCOUNT=str(settings.spin), GGML_NO_BACKTRACE="1"),
                    pass_fds=[theirs.fileno()],
                    stdin=subprocess.DEVNULL,
                )
        except OSError as error:
            ours.close()
            raise WorkerDied(f"no process could be started ({error.strerror})", None) from None
        reader, self._writer = await asyncio.open_connection(sock=ours)
        try:
            frame = await receive(reader)
            if frame is None:
                status = await self._wait()
                raise WorkerDied(_how(status), -status if status < 0 else None)
            if "refused" in frame:
                raise LoadRefused(frame["refused"])
        except BaseException:
            self._process.kill()  # one that is loading does not listen
            await self.aclose()
            raise
        self.context = frame["loaded"]["context"]
        self._listener = asyncio.create_task(self._listen(reader))

    def ask(self, request: Request) -> tuple[int, asyncio.Queue[Event]]:
        """Send a request; return its number and the queue its events come in."""
        id_ = next(self._ids)
        queue: asyncio.Queue[Event] = asyncio.Queue()
        if self.died.is_set() or self._writer is None:
            queue.put_nowait(Failed(Broken("The engine's process for this model has ended.")))
            return id_, queue
        self._queues[id_] = queue
        self._writer.write(pack({"ask": id_, "request": request_to_json(request)}))
        return id_, queue

    def cancel(self, id_: int) -> None:
        """End a request that nobody listens to any more; nothing where it is over."""
        if self._queues.pop(id_, None) is not None and self._writer is not None:
            self._writer.write(pack({"cancel": id_}))

    async def aclose(self) -> None:
        """End the process; requests that run end with ``Failed``."""
        if self._writer is not None:
            self._writer.close()
        if self._listener is not None:
            self._listener.cancel()
            await asyncio.wait({self._listener})
        await self._wait()
        self._end("The engine was stopped.")

    async def _listen(self, reader: asyncio.StreamReader) -> None:
        while (frame := await receive(reader)) is not None:
            for id_, data in frame["events"]:
                if (queue := self._queues.get(id_)) is None:
                    continue
                event = event_from_json(data)
                if isinstance(event, Finished | Failed):
                    del self._queues[id_]
                queue.put_nowait(event)
        # Whoever waits is told before the process is buried.
        self._end("The engine's process for this model ended in the middle of the answer.")

    def _end(self, message: str) -> None:
        queues, self._queues = self._queues, {}
        for queue in queues.values():
            queue.put_nowait(Failed(Broken(message)))
        if self._writer is not None:
            self._writer.close()
        self.died.set()

    async def _wait(self) -> int:
        """The exit status; the process is killed where it does not end by itself."""
        process = self._process
        if process is None:
            return 0
        try:
            return await asyncio.to_thread(process.wait, END_S)
        except subprocess.TimeoutExpired:
            process.kill()
            return await asyncio.to_thread(process.wait)

    async def reap(self) -> str:
        """After ``died``: how the process ended, for the log."""
        return _how(await self._wait())


def _how(status: int) -> str:
    if status >= 0:
        return f"the process ended with status {status}"
    return f"the process was ended by {signal.Signals(-status).name}"
