"""A model that is wanted: its worker is started, and started again when it dies."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import signal
import time
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from engine_adapter.bundled.catalogue import ModelFile
from engine_adapter.bundled.process import LoadRefused, WorkerDied, WorkerProcess
from engine_adapter.bundled.tally import Lives
from engine_adapter.errors import Broken, EngineError, Refused, Unreachable
from engine_adapter.reasons import Reason, why
from engine_adapter.types import ModelState

log = logging.getLogger(__name__)

DELAY_S = 0.2  # before the second new start; people wait for the first
MOST_DEATHS = 3
DEATHS_WITHIN_S = 600.0


@dataclass(slots=True)
class Record:
    """What one model's workers did, from the first to the last."""

    lives: Lives = field(default_factory=Lives)
    deaths: int = 0


class Resident:
    """``state`` and ``error`` say how it stands. ``over`` is set when it will not be tried again:
    llama.cpp refused it, or it died too often. ``uses`` counts the requests that need it."""

    def __init__(self, file: ModelFile, record: Record) -> None:
        self.file = file
        self.need = file.need
        self.state: ModelState = "loading"
        self.error: EngineError | None = None
        self.worker: WorkerProcess | None = None
        self.over = False
        self.uses = 0
        self.used_at = time.monotonic()
        self._record = record
        self._loading = file.loading
        self._died_at: list[float] = []
        self._started: WorkerProcess | None = None
        self._changed = asyncio.Condition()
        self._keeper = asyncio.create_task(self._keep())

    async def ready(self) -> WorkerProcess:
        """The worker, once the model is loaded. Raises ``EngineError`` where it cannot be."""
        async with self._changed:
            await self._changed.wait_for(lambda: self.runs or self.state == "failed")
            if self.worker is not None:
                return self.worker
            raise self.error or Broken("The model is not loaded.")

    @contextlib.contextmanager
    def in_use(self) -> Iterator[None]:
        """While the block lasts it is not unloaded to make room."""
        self.uses += 1
        try:
            yield
        finally:
            self.uses -= 1
            self.used_at = time.monotonic()

    @property
    def runs(self) -> bool:
        """Whether the worker can be asked; it may have died and its keeper not know yet."""
        return self.worker is not None and not self.worker.died.is_set()

    @property
    def pid(self) -> int | None:
        """Of the worker, loading or loaded."""
        return None if self._started is None else self._started.pid

    @property
    def idle_s(self) -> float:
        """How long nobody has needed it."""
        return 0.0 if self.uses else time.monotonic() - self.used_at

    async def aclose(self, reason: str = "stopped") -> None:
        """End the worker, for the ``reason`` of this code; what runs ends with ``Failed``."""
        self._keeper.cancel()
        await asyncio.wait({self._keeper})
        if self.worker is not None:
            await self.worker.aclose()
        await self._become("failed", error=Unreachable(why(reason)))

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

    async def _give_up(self, error: EngineError) -> None:
        log.error("%s", error)
        self.over = True
        await self._become("failed", error=error)

    async def _keep(self) -> None:
        name = self.file.name
        while True:
            if self.file.changed:
                await self._give_up(Refused(why("changed", model=name)))
                return
            worker = self._started = WorkerProcess(self._loading, self._record.lives)
            try:
                await worker.load()
            except LoadRefused as refusal:
                await self._give_up(Refused(why("not_loadable", refusal.why, model=name)))
                return
            except WorkerDied as death:
                if self._try_plain(death):
                    continue
                how = death.why
                self._died()
                log.error("%s died while loading: %s", name, how)
                await self._become("failed", error=Broken(why("died_loading", how, model=name)))
            else:
                log.info("%s is loaded", name)
                await self._become("loaded", worker=worker)
                await worker.died.wait()
                self._died()
                await self._become("loading")
                how = await worker.reap()
                log.error("%s: %s", name, how)
            if len(self._died_at) == MOST_DEATHS:
                await self._give_up(_sick(name, how))
                return
            await asyncio.sleep(DELAY_S * (len(self._died_at) - 1))
            await self._become("loading")

    def _died(self) -> None:
        self._record.deaths += 1
        now = time.monotonic()
        self._died_at = [at for at in self._died_at if now - at < DEATHS_WITHIN_S] + [now]

    def _try_plain(self, death: WorkerDied) -> bool:
        """An unknown instruction: some builds of llama.cpp carry tile (AMX) code that a virtual
        machine announces and does not run. Its plain weight layouts do without."""
        if death.ended_by != signal.SIGILL or not self._loading.repack:
            return False
        log.warning("%s: unknown instruction; loading with plain weights", self.file.name)
        self._loading = replace(self._loading, repack=False)
        return True


def _sick(name: str, how: Reason) -> EngineError:
    minutes = round(DEATHS_WITHIN_S / 60)
    return Broken(why("died_often", how, model=name, count=MOST_DEATHS, minutes=minutes))
