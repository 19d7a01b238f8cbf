"""The process of one loaded embeddings model: ``worker``'s sibling, with the same command line.

Host to worker: ``{"embed": id, "texts": […]}``, ``{"cancel": id}``; back come, as base64 of
little-endian 32-bit floats, ``{"embedded": id, "vectors": …, "width": n, "tokens": n}``.
"""

from __future__ import annotations

import asyncio
import base64
import socket
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from engine_adapter.bundled.config import Settings
from engine_adapter.bundled.embedding import Batcher
from engine_adapter.bundled.frames import LARGEST, Frame, event_to_json
from engine_adapter.bundled.line import Line
from engine_adapter.bundled.llama.embedder import Embedder
from engine_adapter.bundled.llama.model import Model, ModelRefused
from engine_adapter.bundled.loading import Loading
from engine_adapter.bundled.runs import framed
from engine_adapter.bundled.tally import End, Tally
from engine_adapter.bundled.working import keep_counting, run, work
from engine_adapter.errors import Broken, EngineError, Refused
from engine_adapter.types import Failed

BYTES_A_NUMBER = 4 * 4 / 3  # a 32-bit float in base64


class EmbeddingWorker:
    """Takes texts from the line and answers with their vectors."""

    def __init__(self, settings: Settings, model: Model, embedder: Embedder, line: Line) -> None:
        self._line = line
        self._vocabulary = model.vocabulary
        self.tally = Tally()
        self.batcher: Batcher[np.ndarray] = Batcher(
            embedder, self.tally, queue=settings.queue, batch=settings.batch_tokens
        )
        self._width = embedder.width
        self._reading = ThreadPoolExecutor(1, "tokenise")
        self._asked: dict[int, asyncio.Task[None]] = {}

    def handle(self, frame: Frame) -> None:
        """Do what the host says."""
        if "embed" in frame:
            id_ = frame["embed"]
            task = asyncio.create_task(self._embed(id_, frame["texts"]))
            self._asked[id_] = task
            task.add_done_callback(lambda _: self._asked.pop(id_, None))
        elif task_ := self._asked.get(frame.get("cancel", -1)):
            task_.cancel()

    async def _embed(self, id_: int, texts: list[str]) -> None:
        began, tokens = time.monotonic(), 0
        end: End = "failed"
        try:
            told = await self._vectors(texts)
            end, tokens = "stop", told["tokens"]
        except asyncio.CancelledError:
            end = "cancelled"
            raise
        except EngineError as error:
            told = {"failed": event_to_json(Failed(error))}
        except Exception as error:  # whoever asked must hear of it, whatever it is
            broken = Broken(f"The texts could not be prepared: {error!r}")
            told = {"failed": event_to_json(Failed(broken))}
        finally:
            self.tally.finished(end, tokens, 0, 0, time.monotonic() - began)
        self._line.send({"embedded": id_, **told})

    async def _vectors(self, texts: list[str]) -> Frame:
        if len(texts) * self._width * BYTES_A_NUMBER > LARGEST / 2:
            raise Refused(f"{len(texts)} texts are too many for one request; send fewer.")
        tokens = await asyncio.get_running_loop().run_in_executor(
            self._reading, lambda: [framed(text, self._vocabulary) for text in texts]
        )
        if not all(tokens):
            raise Refused("An empty text has no embedding.")
        vectors = await asyncio.wrap_future(self.batcher.submit(tokens))
        data = b"".join(vector.astype("<f4").tobytes() for vector in vectors)
        return {
            "vectors": base64.b64encode(data).decode(),
            "width": self._width,
            "tokens": sum(map(len, tokens)),
        }


async def serve(connection: socket.socket, loading: Loading) -> int:
    """Load, say so, then work until the host hangs up. Returns the exit status."""
    line = Line(connection.dup())  # the reader's own is closed with the reader
    reader, _ = await asyncio.open_connection(sock=connection)
    io = asyncio.get_running_loop()
    computing = ThreadPoolExecutor(1, "compute")  # one for all that computes, as in worker.py
    try:
        model = await io.run_in_executor(computing, Model, loading)
        embedder = await io.run_in_executor(computing, Embedder, model, loading.settings)
    except ModelRefused as refusal:
        line.send({"refused": refusal.why.as_json()})
        await line.drain()
        return 0
    worker = EmbeddingWorker(loading.settings, model, embedder, line)
    line.send({"loaded": {"context": embedder.context}})
    ended = asyncio.ensure_future(io.run_in_executor(computing, worker.batcher.run))
    counting = asyncio.create_task(keep_counting(worker.tally, line))
    status = await work(reader, worker.handle, ended)
    counting.cancel()
    if ended.done():
        ended.result()  # raises what went wrong, for the log
    return status


if __name__ == "__main__":
    run(serve)
