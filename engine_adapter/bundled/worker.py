"""The process of one loaded model: frames in, events out, one thread that computes.

Started by ``process.py`` as ``worker FD JSON``; knows no HTTP and no other model. It ends when its
host does.
"""

from __future__ import annotations

import asyncio
import json
import os
import socket
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

from engine_adapter.bundled import prompt
from engine_adapter.bundled.cache import StateCache
from engine_adapter.bundled.child import tie_to_parent
from engine_adapter.bundled.config import Loading, Settings
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
from engine_adapter.bundled.renderer import Renderer
from engine_adapter.bundled.scheduler import Scheduler
from engine_adapter.bundled.sequence import Sequence
from engine_adapter.bundled.templates import CHATML, TemplateRefused
from engine_adapter.bundled.threads import Threads
from engine_adapter.bundled.transcript import Transcript
from engine_adapter.errors import Broken, ContextTooLong, EngineError, Refused
from engine_adapter.types import Failed, Request, Turn

# A first conversation, so that a template that cannot be used is found while loading.
PROBE = (Turn("user", "a"), Turn("assistant", "b"), Turn("user", "c"))


class Worker:
    """Takes requests from the line and hands sequences to the loop."""

    def __init__(
        self, settings: Settings, model: Model, lanes: Lanes, line: asyncio.StreamWriter
    ) -> None:
        self._vocabulary = model.vocabulary
        self._lanes = lanes
        self._line = line
        self._io = asyncio.get_running_loop()
        marker = self._vocabulary.marker
        self._renderer = Renderer(model.template or CHATML)
        self._prompter = prompt.Prompter(self._renderer, marker("bos"), marker("eos"))
        scheduler = Scheduler(slots=settings.slots, queue=settings.queue)
        self.loop = DecodeLoop(
            lanes,
            scheduler,
            StateCache(lanes, scheduler.slots, limit=settings.cache_mib << 20),
            Pace(target_s=settings.step_s, most=settings.batch_tokens),
            Threads(settings.thread_count),
            self._tell_from_thread,
        )
        self._reading = ThreadPoolExecutor(1, "tokenise")
        self._asked: dict[int, asyncio.Task[None]] = {}

    async def check(self) -> None:
        """Raise ``TemplateRefused`` where the template cannot be used."""
        await self._prompter.parts(PROBE, continue_final=False)

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
            self.loop.submit(await self._sequence(id_, request))
        except EngineError as error:
            self._tell([(id_, Failed(error))])
        except Exception as error:  # whoever asked must hear of it, whatever it is
            self._tell([(id_, Failed(Broken(f"The prompt could not be prepared: {error!r}")))])

    async def _sequence(self, id_: int, request: Request) -> Sequence:
        """The request as tokens. Raises ``Refused``."""
        try:
            parts = await self._prompter.parts(request.turns, continue_final=request.continue_final)
        except TemplateRefused as refusal:
            raise Refused(f"The model's chat template refuses this: {refusal}.") from None
        tokens = await asyncio.get_running_loop().run_in_executor(
            self._reading, prompt.to_tokens, parts, self._vocabulary
        )
        room = self._lanes.context - len(tokens)
        if room < 1 or not tokens:
            raise ContextTooLong(
                f"The prompt has {len(tokens)} tokens; the model reads {self._lanes.context}.",
                prompt_tokens=len(tokens),
                context_length=self._lanes.context,
            )
        sampling = request.sampling
        sequence = Sequence(
            id=id_,
            known=tokens,
            room=min(room, sampling.max_tokens or room),
            sampling=sampling,
            priority=request.priority,
            user=request.user or request.cache_salt or "",
            domain=request.cache_salt or "",
            transcript=Transcript(stop=sampling.stop),
        )
        self._lanes.prepare(sequence)
        return sequence

    def _tell_from_thread(self, told: list[Told]) -> None:
        self._io.call_soon_threadsafe(self._tell, told)

    def _tell(self, told: list[Told]) -> None:
        self._line.write(pack({"events": [[id_, event_to_json(event)] for id_, event in told]}))


async def serve(line: socket.socket, loading: Loading) -> int:
    """Load, say so, then work until the host hangs up. Returns the exit status."""
    reader, writer = await asyncio.open_connection(sock=line)
    try:
        model = await asyncio.to_thread(Model, loading)
        lanes = await asyncio.to_thread(Lanes, model, loading.settings)
        worker = Worker(loading.settings, model, lanes, writer)
        await worker.check()
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
    ended = asyncio.create_task(over.wait())
    while not ended.done():
        frame = asyncio.create_task(receive(reader))
        await asyncio.wait({frame, ended}, return_when=asyncio.FIRST_COMPLETED)
        if frame.done():
            if (message := frame.result()) is None:
                return 0
            worker.handle(message)
    await writer.drain()
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
