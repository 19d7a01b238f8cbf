"""One worker process, seen from the host: started, asked, heard, ended. Never started twice."""

from __future__ import annotations

import array
import asyncio
import base64
import itertools
import json
import signal
import socket
import subprocess
import sys
from collections.abc import Sequence

from engine_adapter.bundled.child import command, computed_ticks, environment
from engine_adapter.bundled.frames import Frame, event_from_json, pack, receive, request_to_json
from engine_adapter.bundled.loading import Loading
from engine_adapter.bundled.tally import Lives
from engine_adapter.errors import Broken
from engine_adapter.reasons import Reason, from_json, why
from engine_adapter.types import Embeddings, Event, Failed, Finished, Request

END_S = 2.0
# A worker says something every second. So many looks in a row, ``Settings.hang_s`` together, at
# which it neither has nor has computed: it is frozen. Looks, not seconds: a machine that slept
# finds nobody guilty.
MOST_SILENT = 6
MODULES = {"text": "worker", "embeddings": "embedding_worker"}
# glibc (from 2.35) asks for large pages for what llama.cpp allocates, where the kernel leaves that
# to programs, as Debian's does. A token each of 8 / 32 answers of 400 tokens took 29 / 83 ms with
# them and 36 / 120 without: their keys and values lie in a gigabyte.
LARGE_PAGES = {"GLIBC_TUNABLES": "glibc.malloc.hugetlb=1"}


class LoadRefused(Exception):
    """The worker looked at the model and said no; trying again is of no use."""

    def __init__(self, reason: Reason) -> None:
        super().__init__(str(reason))
        self.why = reason


class WorkerDied(Exception):
    """The process ended before the model was loaded. ``ended_by`` is the signal, or None."""

    def __init__(self, reason: Reason, ended_by: int | None) -> None:
        super().__init__(str(reason))
        self.why = reason
        self.ended_by = ended_by


class WorkerProcess:
    """Use ``load`` once, then ``ask`` and ``cancel``, or ``embed``. ``died`` is set when the
    process is gone; ``lives`` hears what it counts."""

    def __init__(self, loading: Loading, lives: Lives) -> None:
        self._loading = loading
        self._lives = lives
        self.died = asyncio.Event()
        self.context = 0
        self._ids = itertools.count()
        self._queues: dict[int, asyncio.Queue[Event]] = {}
        self._vectors: dict[int, asyncio.Future[Embeddings]] = {}
        self._process: subprocess.Popen[bytes] | None = None
        self._writer: asyncio.StreamWriter | None = None
        self._listener: asyncio.Task[None] | None = None
        self._watcher: asyncio.Task[None] | None = None
        self._heard = True

    @property
    def pid(self) -> int | None:
        """The process, once it was started."""
        return None if self._process is None else self._process.pid

    async def load(self) -> None:
        """Start the process and return when the model answers. Raises ``LoadRefused``,
        ``WorkerDied``."""
        ours, theirs = socket.socketpair()
        settings = self._loading.settings
        module = MODULES[self._loading.kind]
        # Our own interpreter and module; in this thread, for the child ends with its starter.
        try:
            with theirs:
                self._process = subprocess.Popen(  # noqa: S603, ASYNC220 - see above
                    command(module, str(theirs.fileno()), json.dumps(self._loading.as_json())),
                    env=environment(
                        GOMP_SPINCOUNT=str(settings.spin), GGML_NO_BACKTRACE="1", **LARGE_PAGES
                    ),
                    pass_fds=[theirs.fileno()],
                    stdin=subprocess.DEVNULL,
                )
        except OSError as error:
            ours.close()
            raise WorkerDied(why("not_started", system=str(error.strerror)), None) from None
        reader, self._writer = await asyncio.open_connection(sock=ours)
        try:
            frame = await receive(reader)
            if frame is None:
                status = await self._wait()
                raise WorkerDied(_how(status), _signal(status))
            if "refused" in frame:
                # A worker of ours tells no other kind.
                raise LoadRefused(from_json(frame["refused"]) or why("llama_refuses", words="?"))
        except BaseException:
            self._process.kill()  # one that is loading does not listen
            await self.aclose()
            raise
        self.context = frame["loaded"]["context"]
        self._listener = asyncio.create_task(self._listen(reader))
        self._watcher = asyncio.create_task(self._watch(self._process))

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

    async def embed(self, texts: Sequence[str]) -> Embeddings:
        """The texts' vectors. Raises ``EngineError``."""
        if self.died.is_set() or self._writer is None:
            raise Broken("The engine's process for this model has ended.")
        id_ = next(self._ids)
        self._vectors[id_] = asyncio.get_running_loop().create_future()
        self._writer.write(pack({"embed": id_, "texts": list(texts)}))
        try:
            return await self._vectors[id_]
        finally:
            if self._vectors.pop(id_).cancelled():
                self._writer.write(pack({"cancel": id_}))

    async def aclose(self) -> None:
        """End the process; requests that run end with ``Failed``."""
        if self._writer is not None:
            self._writer.close()
        if tasks := [task for task in (self._listener, self._watcher) if task is not None]:
            for task in tasks:
                task.cancel()
            await asyncio.wait(tasks)
        await self._wait()
        self._end("The engine was stopped.")

    async def _listen(self, reader: asyncio.StreamReader) -> None:
        while (frame := await receive(reader)) is not None:
            self._hear(frame)
        # Whoever waits is told before the process is buried.
        self._end("The engine's process for this model ended in the middle of the answer.")

    async def _watch(self, process: subprocess.Popen[bytes]) -> None:
        silent, computed = 0, -1
        while silent < MOST_SILENT:
            self._heard = False
            await asyncio.sleep(self._loading.settings.hang_s / MOST_SILENT)
            before, computed = computed, computed_ticks(process.pid)
            silent = silent + 1 if computed == before and not self._heard else 0
        process.kill()  # whoever listens to it sees its end

    def _hear(self, frame: Frame) -> None:
        self._heard = True
        for id_, data in frame.get("events", ()):
            if (queue := self._queues.get(id_)) is None:
                continue
            event = event_from_json(data)
            if isinstance(event, Finished | Failed):
                del self._queues[id_]
            queue.put_nowait(event)
        if "tally" in frame:
            self._lives.tell(frame["tally"])
        if (waiting := self._vectors.get(frame.get("embedded", -1))) and not waiting.done():
            if "failed" in frame:
                if isinstance(failed := event_from_json(frame["failed"]), Failed):
                    waiting.set_exception(failed.error)
            else:
                waiting.set_result(Embeddings(_vectors(frame), frame["tokens"]))

    def _end(self, message: str) -> None:
        queues, self._queues = self._queues, {}
        for queue in queues.values():
            queue.put_nowait(Failed(Broken(message)))
        for waiting in self._vectors.values():
            if not waiting.done():
                waiting.set_exception(Broken(message))
        self._lives.end()
        if self._watcher is not None:
            self._watcher.cancel()
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

    async def reap(self) -> Reason:
        """After ``died``: how the process ended."""
        return _how(await self._wait())


def _signal(status: int) -> int | None:
    return -status if status < 0 else None


def _how(status: int) -> Reason:
    if status >= 0:
        return why("ended_status", status=status)
    if status == -signal.SIGILL:
        return why("ended_sigill")
    if status == -signal.SIGKILL:
        return why("ended_sigkill")
    return why("ended_signal", signal=signal.Signals(-status).name)


def _vectors(frame: Frame) -> tuple[tuple[float, ...], ...]:
    """The vectors of an ``embedded`` frame."""
    width = frame["width"]
    numbers = array.array("f", base64.b64decode(frame["vectors"]))
    if sys.byteorder == "big":
        numbers.byteswap()
    return tuple(tuple(numbers[at : at + width]) for at in range(0, len(numbers), width))
