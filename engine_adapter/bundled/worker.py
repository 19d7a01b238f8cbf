"""The process of one loaded model: frames in, events out, one thread that computes.

Started by ``process.py`` as ``worker FD JSON``; knows no HTTP and no other model. It ends when its
host does.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import socket
import sys
import threading

from engine_adapter.bundled.cache import StateCache
from engine_adapter.bundled.child import tie_to_parent
from engine_adapter.bundled.config import Loading, Settings
from engine_adapter.bundled.folder import default_directory
from engine_adapter.bundled.frames import (
    Frame,
    event_to_json,
    pack,
    receive,
    request_from_json,
)
from engine_adapter.bundled.llama.context import Lanes
from engine_adapter.bundled.llama.model import Model, ModelRefused
from engine_adapter.bundled.loop import DecodeLoop, Told
from engine_adapter.bundled.pace import Pace
from engine_adapter.bundled.prepare import Preparer
from engine_adapter.bundled.scheduler import Scheduler
from engine_adapter.bundled.spill import Spill
from engine_adapter.bundled.templates import TemplateRefused
from engine_adapter.bundled.threads import Threads
from engine_adapter.errors import Broken, EngineError
from engine_adapter.types import Failed, Request

TALLY_S = 1.0


class Worker:
    """Takes requests from the line and hands sequences to the loop."""

    def __init__(
        self, settings: Settings, model: Model, lanes: Lanes, line: asyncio.StreamWriter
    ) -> None:
        self._line = line
        self._io = asyncio.get_running_loop()
        self.preparer = Preparer(settings, model, lanes)
        self.spill = _open_spill(settings)
        scheduler = Scheduler(slots=settings.slots, queue=settings.queue)
        self.loop = DecodeLoop(
            lanes,
            scheduler,
            StateCache(lanes, scheduler.slots, limit=settings.cache_mib << 20, overflow=self.spill),
            Pace(target_s=settings.step_s, most=settings.batch_tokens),
            Threads(settings.thread_count),
            self._tell_from_thread,
        )
        self._asked: dict[int, asyncio.Task[None]] = {}

    def handle(self, frame: Frame) -> None:
        """Do what the host says."""
        if "ask" in frame:
            id_ = frame["ask"]
            task = asyncio.create_task(self._ask(id_, request_from_json(frame["request"])))
            self._asked[id_] = task
            task.add_done_callback(lambda _: self._asked.pop(id_, None))
        elif "cancel" in frame:
            if task_ := self._asked.get(frame["cancel"]):
                task_.cancel()
            self.loop.cancel(frame["cancel"])

    async def _ask(self, id_: int, request: Request) -> None:
        try:
            self.loop.check_room()
            self.loop.submit(await self.preparer.sequence(id_, request))
        except EngineError as error:
            self._tell([(id_, Failed(error))])
        except Exception as error:  # whoever asked must hear of it, whatever it is
            self._tell([(id_, Failed(Broken(f"The prompt could not be prepared: {error!r}")))])

    def _tell_from_thread(self, told: list[Told]) -> None:
        self._io.call_soon_threadsafe(self._tell, told)

    def _tell(self, told: list[Told]) -> None:
        self._line.write(pack({"events": [[id_, event_to_json(event)] for id_, event in told]}))

    async def keep_counting(self) -> None:
        """Tell the host now and then what was counted, when it has changed."""
        told = None
        while True:
            snapshot = self.loop.tally.snapshot()
            if snapshot != told:
                told = snapshot
                self._line.write(pack({"tally": snapshot}))
            await asyncio.sleep(TALLY_S)


def _open_spill(settings: Settings) -> Spill | None:
    if not settings.cache_disk_mib:
        return None
    try:
        return Spill(default_directory(), settings.cache_disk_mib << 20)
    except OSError as error:
        print(f"states are not kept on disk: {error}", file=sys.stderr, flush=True)
        return None


async def serve(line: socket.socket, loading: Loading) -> int:
    """Load, say so, then work until the host hangs up. Returns the exit status."""
    reader, writer = await asyncio.open_connection(sock=line)
    try:
        model = await asyncio.to_thread(Model, loading)
        lanes = await asyncio.to_thread(Lanes, model, loading.settings)
        worker = Worker(loading.settings, model, lanes, writer)
        await worker.preparer.check()
    except ModelRefused as refusal:
        writer.write(pack({"refused": f"llama.cpp refuses it: {refusal}"}))
        await writer.drain()
        return 0
    except TemplateRefused as refusal:
        writer.write(pack({"refused": f"Its chat template cannot be used: {refusal}"}))
        await writer.drain()
        return 0
    writer.write(pack({"loaded": {"context": lanes.context}}))
    over = asyncio.Event()
    io = asyncio.get_running_loop()

    def compute() -> None:
        try:
            worker.loop.run()
        finally:
            io.call_soon_threadsafe(over.set)

    threading.Thread(target=compute, name="decode", daemon=True).start()
    counting = asyncio.create_task(worker.keep_counting())
    try:
        return await _work(reader, worker, asyncio.create_task(over.wait()))
    finally:
        counting.cancel()
        with contextlib.suppress(ConnectionError):
            await writer.drain()
        if worker.spill is not None:
            await asyncio.to_thread(worker.spill.close)


async def _work(reader: asyncio.StreamReader, worker: Worker, ended: asyncio.Task[bool]) -> int:
    """Do what the host says until it hangs up (0) or nothing can be computed any more (1)."""
    while not ended.done():
        frame = asyncio.create_task(receive(reader))
        await asyncio.wait({frame, ended}, return_when=asyncio.FIRST_COMPLETED)
        if frame.done():
            if (message := frame.result()) is None:
                return 0
            worker.handle(message)
    return 1


def main() -> None:
    """The process. Leaves without the C++ destructors: the thread may still be computing."""
    tie_to_parent()
    line = socket.socket(fileno=int(sys.argv[1]))
    status = asyncio.run(serve(line, Loading.from_json(json.loads(sys.argv[2]))))
    sys.stderr.flush()
    os._exit(status)


if __name__ == "__main__":
    main()
