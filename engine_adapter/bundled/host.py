"""The bundled engine: a worker process for each loaded model, kept alive, behind one protocol.

Knows neither HTTP nor llama.cpp.
"""

from __future__ import annotations

import asyncio
import logging
import signal
import time
from collections.abc import AsyncGenerator, Sequence
from dataclasses import replace
from pathlib import Path

from engine_adapter.bundled.catalogue import Catalogue, ModelFile
from engine_adapter.bundled.config import Loading, Settings
from engine_adapter.bundled.process import LoadRefused, WorkerDied, WorkerProcess
from engine_adapter.errors import Broken, EngineError, Refused, Unreachable
from engine_adapter.types import Event, Failed, Finished, ModelCard, ModelState, Request

log = logging.getLogger(__name__)

FIRST_DELAY_S = 0.2
LONGEST_DELAY_S = 30.0
STEADY_S = 60.0  # a worker that lived this long died of something new


class _Model:
    """A model that is wanted: its worker is started, and started again when it dies."""

    def __init__(self, file: ModelFile, settings: Settings) -> None:
        self.file = file
        self.state: ModelState = "loading"
        self.error: EngineError | None = None
        self.worker: WorkerProcess | None = None
        self._loading = Loading(file.path, settings)
        self._changed = asyncio.Condition()
        self._keeper = asyncio.create_task(self._keep())

    async def ready(self) -> WorkerProcess:
        """The worker, once the model is loaded. Raises ``EngineError`` where it cannot be."""
        async with self._changed:
            await self._changed.wait_for(lambda: self.runs or self.state == "failed")
            if self.worker is not None:
                return self.worker
            raise self.error or Broken("The model is not loaded.")

    @property
    def runs(self) -> bool:
        """Whether the worker can be asked; it may have died and its keeper not know yet."""
        return self.worker is not None and not self.worker.died.is_set()

    async def aclose(self) -> None:
        self._keeper.cancel()
        await asyncio.wait({self._keeper})
        if self.worker is not None:
            await self.worker.aclose()
        await self._become("failed", error=Unreachable("The engine was stopped."))

    async def _become(
        self,
        state: ModelState,
        *,
        worker: WorkerProcess | None = None,
        error: EngineError | None = None,
    ) -> None:
        async with self._changed:
            self.state, self.worker, self.error = state, worker, error
            self._changed.notify_all()

    async def _keep(self) -> None:
        delay_s = FIRST_DELAY_S
        while True:
            if self.file.changed:
                await self._become("failed", error=Refused(f"{self.file.path.name} has changed."))
                return
            began = time.monotonic()
            worker = WorkerProcess(self._loading)
            try:
                await worker.load()
            except LoadRefused as refusal:
                log.error("%s cannot be loaded: %s", self.file.name, refusal)
                reason = f"The model {self.file.name} cannot be loaded. {refusal}"
                await self._become("failed", error=Refused(reason))
                return
            except WorkerDied as death:
                if await self._try_plain(death):
                    continue
                log.error("%s died while loading: %s", self.file.name, death)
                await self._become("failed", error=Broken(self._explain(death)))
            else:
                log.info("%s is loaded", self.file.name)
                await self._become("loaded", worker=worker)
                await worker.died.wait()
                await self._become("loading")
                log.error("%s: %s", self.file.name, await worker.reap())
            delay_s = FIRST_DELAY_S if time.monotonic() - began > STEADY_S else delay_s
            await asyncio.sleep(delay_s)
            delay_s = min(2 * delay_s, LONGEST_DELAY_S)
            await self._become("loading")

    async def _try_plain(self, death: WorkerDied) -> bool:
        """An unknown instruction: some builds of llama.cpp carry tile (AMX) code that a virtual
        machine announces and does not run. Its plain weight layouts do without."""
        if death.ended_by != signal.SIGILL or not self._loading.repack:
            return False
        log.warning("%s: unknown instruction; loading with plain weights", self.file.name)
        self._loading = replace(self._loading, repack=False)
        return True

    def _explain(self, death: WorkerDied) -> str:
        text = f"The model {self.file.name} could not be loaded: {death}."
        if death.ended_by == signal.SIGILL:
            text += " llama.cpp was built for another processor; build it again on this machine."
        return text


class BundledEngine:
    """Serves every ``*.gguf`` of a directory. The first is loaded by ``start``, any other when it
    is first asked for."""

    def __init__(self, directory: Path, settings: Settings) -> None:
        self._settings = settings
        self._catalogue = Catalogue(directory)
        self._models: dict[str, _Model] = {}
        self._closed = False

    async def start(self) -> None:
        """Begin to load the first model; does not wait for it."""
        await self._wake_first()

    async def stream(self, request: Request) -> AsyncGenerator[Event, None]:
        """See ``Engine``."""
        try:
            worker = await (await self._wanted(request.model)).ready()
        except EngineError as error:
            yield Failed(error)
            return
        id_, queue = worker.ask(request)
        try:
            while True:
                event = await queue.get()
                yield event
                if isinstance(event, Finished | Failed):
                    return
        finally:
            worker.cancel(id_)

    async def models(self) -> Sequence[ModelCard]:
        """See ``Engine``."""
        return [self._card(file) for file in (await self._catalogue.scan()).values()]

    async def health(self) -> None:
        """See ``Engine``: well means that a model is loaded."""
        models = list(self._models.values()) or await self._wake_first()
        if any(model.runs for model in models):
            return
        if not models:
            raise Unreachable(f"There is no model in {self._catalogue.directory}.")
        if loading := [model.file.name for model in models if model.state != "failed"]:
            raise Unreachable(f"The model {loading[0]} is being loaded.")
        raise Unreachable(str(models[0].error))

    async def aclose(self) -> None:
        """See ``Engine``. Every worker ends."""
        self._closed = True
        await self._catalogue.aclose()
        await asyncio.gather(*(model.aclose() for model in self._models.values()))

    async def _wake_first(self) -> list[_Model]:
        files = await self._catalogue.scan()
        first = next((file.name for file in files.values() if file.header), None)
        if first is not None and not self._models:
            await self._wanted(first)
        return list(self._models.values())

    async def _wanted(self, name: str) -> _Model:
        """The model, being loaded if it was not. Raises ``Refused`` for what cannot be."""
        model = self._models.get(name)
        if model is not None and model.runs:
            return model
        file = (await self._catalogue.scan()).get(name)
        model = self._models.get(name)
        if self._closed:
            raise Unreachable("The engine was stopped.")
        if file is None:
            raise Refused(f"There is no model named {name}.")
        if file.refused is not None:
            raise Refused(file.refused)
        if model is not None and model.file.stamp != file.stamp and model.state == "failed":
            await model.aclose()  # another file under the same name: worth another try
            model = None
        if model is None:
            model = self._models.setdefault(name, _Model(file, self._settings))
        return model

    def _card(self, file: ModelFile) -> ModelCard:
        model = self._models.get(file.name)
        file = model.file if model else file  # what runs, not what has been put in its place
        header = file.header
        state: ModelState = model.state if model else "available" if header else "failed"
        context = min(self._settings.context, header.context_length) if header else None
        if model is not None and model.worker is not None:
            context = model.worker.context
        return ModelCard(
            name=file.name,
            context_length=context,
            size_bytes=file.stamp[0],
            quantization=header.quantization if header else None,
            sha256=file.sha256,
            continues=True,
            state=state,
        )
