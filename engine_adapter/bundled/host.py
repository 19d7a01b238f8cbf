"""The bundled engine: a worker process for each loaded model, kept alive, behind one protocol.

Knows neither HTTP nor llama.cpp.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, Sequence
from pathlib import Path

from engine_adapter.arriving import Inspected
from engine_adapter.bundled import inspecting
from engine_adapter.bundled.catalogue import Catalogue, ModelFile
from engine_adapter.bundled.config import Settings
from engine_adapter.bundled.folder import default_directory, sweep
from engine_adapter.bundled.metrics import Measured, render
from engine_adapter.bundled.residents import Residents
from engine_adapter.bundled.room import Room
from engine_adapter.errors import EngineError, ModelChanged, Unreachable
from engine_adapter.reasons import Reason
from engine_adapter.types import (
    Embeddings,
    Event,
    Failed,
    FileFacts,
    Finished,
    ModelCard,
    ModelState,
    Outlook,
    Request,
)

OUTLOOK_S = 1.0  # how long what was found out about memory is told; every answer asks for the cards


class BundledEngine:
    """Serves every ``*.gguf`` of a directory. The pinned ones, or else the first, are loaded by
    ``start``, any other when it is first asked for. ``memory`` bytes are the most that all may
    take together; None is what the machine gives."""

    def __init__(self, directory: Path, settings: Settings, memory: int | None = None) -> None:
        self._settings = settings
        self._catalogue = Catalogue(directory, settings)
        self._residents = Residents(self._catalogue, Room(memory))
        self._woken = False
        self._outlooks: dict[str, Outlook] = {}
        self._looked_at = -OUTLOOK_S

    async def start(self) -> None:
        """Begin to load what is to be there from the start; does not wait for it."""
        sweep(default_directory())  # what a killed worker left of its states
        self._residents.start()
        await self._wake()

    async def stream(self, request: Request) -> AsyncGenerator[Event, None]:
        """See ``Engine``."""
        try:
            resident = await self._residents.wanted(request.model, "text")
        except EngineError as error:
            yield Failed(error)
            return
        with resident.in_use():
            try:
                worker = await resident.ready()
                if request.model_sha256 is not None:
                    await self._compare(resident.file, request.model_sha256)
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

    async def embed(self, model: str, texts: Sequence[str]) -> Embeddings:
        """See ``Embedder``."""
        resident = await self._residents.wanted(model, "embeddings")
        with resident.in_use():
            return await (await resident.ready()).embed(texts)

    async def load_model(self, model: str) -> None:
        """See ``Loader``."""
        resident = await self._residents.wanted(model)
        with resident.in_use():
            await resident.ready()

    async def unload_model(self, model: str) -> None:
        """See ``Loader``. Whoever asks for it next has it loaded again."""
        await self._residents.unload(model)

    async def pin_model(self, model: str, *, pinned: bool) -> None:
        """See ``Pinner``. Forgotten when this host ends."""
        await self._residents.pin(model, pinned=pinned)
        self._looked_at = -OUTLOOK_S

    async def inspect(self, file: str, name: str) -> Inspected:
        """See ``Inspector``."""
        folder = self._catalogue.directory
        found = await asyncio.to_thread(inspecting.read, folder, file, name, self._settings)
        header = found.weights.header
        outlooks = await self._residents.outlooks([found])
        return Inspected(
            size_bytes=found.weights.stamp[0],
            why=found.refused,
            name=header.name if header else None,
            quantization=header.quantization if header else None,
            kind=found.kind,
            is_adapter=header is not None and header.is_adapter,
            facts=_facts(found),
            outlook=None if header is None or header.is_adapter else outlooks.get(found.name),
        )

    async def models(self) -> Sequence[ModelCard]:
        """See ``Engine``."""
        files = (await self._catalogue.scan()).values()
        if time.monotonic() - self._looked_at >= OUTLOOK_S:
            self._looked_at = time.monotonic()
            self._outlooks = await self._residents.outlooks(files)
        return [self._card(file) for file in files]

    async def health(self) -> None:
        """See ``Engine``: well means that a model is loaded, or would be if it were asked for."""
        trouble = None if self._woken else await self._wake()
        residents = list(self._residents.by_name.values())
        if any(resident.runs for resident in residents):
            return
        if loading := [r.file.name for r in residents if r.state == "loading"]:
            raise Unreachable(f"The model {loading[0]} is being loaded.")
        if failed := [resident for resident in residents if resident.error]:
            raise Unreachable(str(failed[0].error))
        files = await self._catalogue.scan()
        if not any(file.refused is None for file in files.values()):
            reasons = [str(file.refused) for file in files.values() if file.refused]
            missing = f"There is no model in {self._catalogue.directory}."
            raise Unreachable(" ".join([missing, *reasons[:1]]))
        if trouble is not None:
            raise Unreachable(str(trouble))

    def measured(self) -> dict[str, Measured]:
        """What every model that was ever loaded has counted, for ``/metrics``."""
        residents = self._residents.by_name
        return {
            name: Measured(
                residents[name].state if name in residents else "available",
                record.lives.total(),
                record.deaths,
                residents[name].file.settings.slots if name in residents else 0,
            )
            for name, record in self._residents.records.items()
        }

    def metrics(self) -> bytes:
        """See ``Metered``."""
        return render(self.measured())

    async def aclose(self) -> None:
        """See ``Engine``. Every worker ends."""
        await self._catalogue.aclose()
        await self._residents.aclose()

    async def _compare(self, file: ModelFile, sha256: str) -> None:
        """Raises ``ModelChanged`` for another file, ``Unreachable`` where nobody can say."""
        found = await self._catalogue.fingerprint(file)
        if found is None:
            raise Unreachable(f"The file of the model {file.name} has no fingerprint yet.")
        if found != sha256:
            raise ModelChanged(f"The file of the model {file.name} is not the one asked for.")

    async def _wake(self) -> EngineError | None:
        """Load the pinned models, else the first that fits. Returns why there is none."""
        files = [file for file in (await self._catalogue.scan()).values() if not file.refused]
        pinned = [file for file in files if file.settings.pinned]
        # Whoever asks for nothing in particular asks for text, and not for an adapter's.
        rest = sorted(files, key=lambda file: (file.kind != "text", file.base is not None))
        trouble: EngineError | None = None
        for file in pinned or rest:
            try:
                await self._residents.wanted(file.name)
            except EngineError as error:
                trouble = trouble or error
            else:
                self._woken = True
                if not pinned:
                    break
        return None if self._woken else trouble

    def _card(self, file: ModelFile) -> ModelCard:
        resident = self._residents.by_name.get(file.name)
        file = resident.file if resident else file  # what runs, not what was put in its place
        header = file.header if file.refused is None else None
        state: ModelState = "available" if header else "failed"
        context = min(file.settings.context, header.context_length) if header else None
        reason: Reason | None = file.refused
        if resident is not None:
            state = resident.state
            reason = resident.error.why if resident.error else None
            if resident.worker is not None:
                context = resident.worker.context
        return ModelCard(
            name=file.name,
            context_length=context,
            size_bytes=file.weights.stamp[0],
            quantization=file.weights.header.quantization if file.weights.header else None,
            sha256=file.sha256,
            continues=file.kind == "text",
            state=state,
            kind=file.kind,
            parent=file.base.name if file.base else None,
            reason=None if reason is None else str(reason),
            why=reason,
            facts=_facts(file),
            outlook=self._outlooks.get(file.name),
            pinned=file.settings.pinned,
        )


def _facts(file: ModelFile) -> FileFacts | None:
    """Of the model's own file: of an adapter, not of its base."""
    if (header := file.weights.header) is None:
        return None
    return FileFacts(
        architecture=header.architecture,
        parameters=header.parameters or None,
        layers=header.layers or None,
        trained_length=header.context_length or None,
        has_template=None if header.is_adapter else header.has_template,
    )
