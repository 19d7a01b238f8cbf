"""The process of one loaded model: frames in, events out, one thread that computes.

Started by ``process.py`` as ``worker FD JSON``; knows no HTTP and no other model. It ends when its
host does.
"""

from __future__ import annotations

import asyncio
import socket
import sys
from concurrent.futures import ThreadPoolExecutor

from engine_adapter.bundled.cache import StateCache
from engine_adapter.bundled.config import Settings
from engine_adapter.bundled.folder import default_directory
from engine_adapter.bundled.frames import Frame, event_to_json, request_from_json
from engine_adapter.bundled.line import Line
from engine_adapter.bundled.llama.lanes import Lanes
from engine_adapter.bundled.llama.model import Model, ModelRefused
from engine_adapter.bundled.loading import Loading
from engine_adapter.bundled.loop import DecodeLoop
from engine_adapter.bundled.pace import Pace
from engine_adapter.bundled.prepare import Preparer
from engine_adapter.bundled.scheduler import Scheduler
from engine_adapter.bundled.spill import Spill
from engine_adapter.bundled.telling import Told
from engine_adapter.bundled.templates import TemplateRefused
from engine_adapter.bundled.threads import Threads
from engine_adapter.bundled.working import keep_counting, run, work
from engine_adapter.errors import Broken, EngineError
from engine_adapter.reasons import why
from engine_adapter.types import Failed, Request


class Worker:
    """Takes requests from the line and hands sequences to the loop."""

    def __init__(self, settings: Settings, model: Model, lanes: Lanes, line: Line) -> None:
        self._line = line
        self.preparer = Preparer(settings, model, lanes)
        self.spill = _open_spill(settings)
        scheduler = Scheduler(slots=settings.slots, queue=settings.queue)
        self.loop = DecodeLoop(
            lanes,
            scheduler,
            StateCache(lanes, scheduler.slots, limit=settings.cache_mib << 20, overflow=self.spill),
            Pace(target_s=settings.step_s, most=settings.batch_tokens),
            Threads(settings.thread_count),
            self._tell,
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

    def _tell(self, told: list[Told]) -> None:
        self._line.send({"events": [[id_, event_to_json(event)] for id_, event in told]})


def _open_spill(settings: Settings) -> Spill | None:
    if not settings.cache_disk_mib:
        return None
    try:
        return Spill(default_directory(), settings.cache_disk_mib << 20)
    except OSError as error:
        print(f"states are not kept on disk: {error}", file=sys.stderr, flush=True)
        return None


async def serve(connection: socket.socket, loading: Loading) -> int:
    """Load, say so, then work until the host hangs up. Returns the exit status."""
    line = Line(connection.dup())  # the reader's own is closed with the reader
    reader, writer = await asyncio.open_connection(sock=connection)
    io = asyncio.get_running_loop()
    # One thread for everything that computes, the trial while loading included: libgomp keeps a
    # team for each, and where all teams are more threads than cores it lets none of them spin.
    computing = ThreadPoolExecutor(1, "compute")
    try:
        model = await io.run_in_executor(computing, Model, loading)
        lanes = await io.run_in_executor(computing, Lanes, model, loading.settings)
        worker = Worker(loading.settings, model, lanes, line)
        await worker.preparer.check()
    except ModelRefused as refusal:
        line.send({"refused": refusal.why.as_json()})
        await line.drain()
        return 0
    except TemplateRefused as refusal:
        line.send({"refused": why("bad_template", words=str(refusal)[:300]).as_json()})
        await line.drain()
        return 0
    line.send({"loaded": {"context": lanes.context}})
    over = asyncio.ensure_future(io.run_in_executor(computing, worker.loop.run))
    over.add_done_callback(lambda done: done.exception())  # told by the loop to whom it concerns
    counting = asyncio.create_task(keep_counting(worker.loop.tally, line))
    try:
        return await work(reader, worker.handle, over)
    finally:
        counting.cancel()
        await line.drain()
        writer.close()
        if worker.spill is not None:
            await asyncio.to_thread(worker.spill.close)


if __name__ == "__main__":
    run(serve)
