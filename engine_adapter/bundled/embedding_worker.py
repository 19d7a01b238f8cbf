"""The process of one loaded embeddings model: ``worker``'s sibling, with the same command line.

Host to worker: ``{"embed": id, "texts": […]}``, ``{"cancel": id}``; back come, as base64 of
little-endian 32-bit floats, ``{"embedded": id, "vectors": …, "width": n, "tokens": n}``.
"""

from __future__ import annotations

import asyncio
import base64
import functools
import json
import os
import socket
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from engine_adapter.bundled.child import tie_to_parent
from engine_adapter.bundled.embedding import Batcher
from engine_adapter.bundled.frames import LARGEST, Frame, event_to_json, pack, receive
from engine_adapter.bundled.llama.embedder import Embedder
from engine_adapter.bundled.llama.model import Model, ModelRefused
from engine_adapter.bundled.loading import Loading
from engine_adapter.errors import Broken, EngineError, Refused
from engine_adapter.types import Failed

BYTES_A_NUMBER = 4 * 4 / 3  # a 32-bit float in base64


class EmbeddingWorker:
    """Takes texts from the line and answers with their vectors."""

    def __init__(self, model: Model, embedder: Embedder, loading: Loading) -> None:
        settings = loading.settings
        self._vocabulary = model.vocabulary
        self.batcher: Batcher[np.ndarray] = Batcher(
            embedder, queue=settings.queue, batch=settings.batch_tokens
        )
        self._width = embedder.width
        self._reading = ThreadPoolExecutor(1, "tokenise")
        self._asked: dict[int, asyncio.Task[None]] = {}

    def handle(self, frame: Frame, line: asyncio.StreamWriter) -> None:
        """Do what the host says."""
        if "embed" in frame:
            id_ = frame["embed"]
            task = asyncio.create_task(self._embed(id_, frame["texts"], line))
            self._asked[id_] = task
            task.add_done_callback(lambda _: self._asked.pop(id_, None))
        elif task_ := self._asked.get(frame.get("cancel", -1)):
            task_.cancel()

    async def _embed(self, id_: int, texts: list[str], line: asyncio.StreamWriter) -> None:
        try:
            line.write(pack({"embedded": id_, **await self._vectors(texts)}))
        except EngineError as error:
            line.write(pack({"embedded": id_, "failed": event_to_json(Failed(error))}))
        except Exception as error:  # whoever asked must hear of it, whatever it is
            broken = Broken(f"The texts could not be prepared: {error!r}")
            line.write(pack({"embedded": id_, "failed": event_to_json(Failed(broken))}))

    async def _vectors(self, texts: list[str]) -> Frame:
        if len(texts) * self._width * BYTES_A_NUMBER > LARGEST / 2:
            raise Refused(f"{len(texts)} texts are too many for one request; send fewer.")
        read = functools.partial(self._vocabulary.tokenize, markers=False, framed=True)
        tokens = await asyncio.get_running_loop().run_in_executor(
            self._reading, lambda: [read(text) for text in texts]
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


async def serve(line: socket.socket, loading: Loading) -> int:
    """Load, say so, then work until the host hangs up. Returns the exit status."""
    reader, writer = await asyncio.open_connection(sock=line)
    try:
        model = await asyncio.to_thread(Model, loading)
        embedder = await asyncio.to_thread(Embedder, model, loading.settings)
    except ModelRefused as refusal:
        writer.write(pack({"refused": f"llama.cpp refuses it: {refusal}"}))
        await writer.drain()
        return 0
    worker = EmbeddingWorker(model, embedder, loading)
    threading.Thread(target=worker.batcher.run, name="compute", daemon=True).start()
    writer.write(pack({"loaded": {"context": embedder.context}}))
    while (frame := await receive(reader)) is not None:
        worker.handle(frame, writer)
    return 0


def main() -> None:
    """The process. Leaves without the C++ destructors: the thread may still be computing."""
    tie_to_parent()
    line = socket.socket(fileno=int(sys.argv[1]))
    status = asyncio.run(serve(line, Loading.from_json(json.loads(sys.argv[2]))))
    sys.stderr.flush()
    os._exit(status)


if __name__ == "__main__":
    main()
