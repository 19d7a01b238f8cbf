"""The models that are loaded: made room for, woken, unloaded when nobody needs them."""

from __future__ import annotations

import asyncio
import logging
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import replace

from engine_adapter.bundled.catalogue import Catalogue, ModelFile
from engine_adapter.bundled.resident import Record, Resident
from engine_adapter.bundled.room import Room
from engine_adapter.errors import EngineError, Refused, Unreachable
from engine_adapter.reasons import why
from engine_adapter.types import ModelKind, Outlook

log = logging.getLogger(__name__)

LOOK_S = 1.0  # how often it is seen who is idle and what has changed


class Residents:
    """At most one worker a model. ``records`` outlive the workers."""

    def __init__(self, catalogue: Catalogue, room: Room) -> None:
        self.by_name: dict[str, Resident] = {}
        self.records: defaultdict[str, Record] = defaultdict(Record)
        self._catalogue = catalogue
        self._room = room
        self._moving = asyncio.Lock()
        self._closed = False
        self._keeper: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Begin to look after them."""
        self._keeper = asyncio.create_task(self._look_after())

    async def wanted(self, name: str, kind: ModelKind | None = None) -> Resident:
        """The model, being loaded if it was not. Raises ``EngineError`` for what cannot be, or is
        of another kind.

        Enter ``in_use`` at once: what nobody needs may be unloaded for another.
        """
        resident = self.by_name.get(name)
        if resident is not None and resident.runs:
            _check_kind(resident.file, kind)
            return resident
        async with self._moving:
            return await self._had(name, kind)

    async def _had(self, name: str, kind: ModelKind | None = None) -> Resident:
        """See ``wanted``; for who moves models already."""
        files = await self._catalogue.scan()
        if self._closed:
            raise Unreachable(why("stopped"))
        if (file := files.get(name)) is None:
            raise Refused(why("no_model", model=name))
        resident = self.by_name.get(name)
        _check_kind(file if resident is None else resident.file, kind)
        if resident is not None and not (resident.over and resident.file.changed):
            return resident
        if file.refused is not None:
            raise Refused(file.refused)
        if resident is not None:  # it gave up, and now there is something new to try
            await self._unload(resident, "files_changed")
        return await self._load(file)

    async def unload(self, name: str) -> None:
        """Free the memory of a model that nobody is using. Raises ``Refused`` where somebody is,
        or where it is pinned."""
        async with self._moving:
            resident = self.by_name.get(name)
            if resident is None:
                return
            if resident.uses:
                raise Refused(why("in_use", model=name))
            if resident.file.settings.pinned:
                raise Refused(why("pinned", model=name))
            log.info("%s is unloaded: an administrator asked for it", name)
            await self._unload(resident, "unloaded")

    async def pin(self, name: str, *, pinned: bool) -> None:
        """Have a model in memory and never unload it for others, or no longer so; until this host
        ends. Raises ``EngineError``, and then nothing is different."""
        async with self._moving:
            if pinned:
                await self._had(name)
            elif name not in await self._catalogue.scan():
                raise Refused(why("no_model", model=name))
            self._catalogue.pins[name] = pinned
            if (resident := self.by_name.get(name)) is not None:
                resident.file.settings = replace(resident.file.settings, pinned=pinned)

    async def outlooks(self, files: Iterable[ModelFile]) -> dict[str, Outlook]:
        """By model, what would come of loading it now, and what each takes that is there."""
        beside = [other for other in self.by_name.values() if not other.over]
        good = [file for file in files if not file.refused]
        return await asyncio.to_thread(self._room.outlooks, good, beside)

    async def aclose(self) -> None:
        """Every worker ends."""
        self._closed = True
        if self._keeper is not None:
            self._keeper.cancel()
            await asyncio.wait({self._keeper})
        await asyncio.gather(*(resident.aclose() for resident in self.by_name.values()))

    async def _load(self, file: ModelFile) -> Resident:
        """Start it, once others have made room. Raises ``EngineError`` where there is none."""
        while True:
            beside = [other for other in self.by_name.values() if not other.over]
            leaver = await asyncio.to_thread(self._room.leaver, file, beside)
            if leaver is None:
                break
            if not leaver.uses:  # somebody may have asked for it just now
                log.info("%s makes room for %s", leaver.file.name, file.name)
                await self._unload(leaver, "made_room")
        resident = self.by_name[file.name] = Resident(file, self.records[file.name])
        return resident

    async def _unload(self, resident: Resident, reason: str) -> None:
        del self.by_name[resident.file.name]
        await resident.aclose(reason)

    async def _look_after(self) -> None:
        while True:
            await asyncio.sleep(LOOK_S)
            try:
                async with self._moving:
                    for resident in list(self.by_name.values()):
                        await self._see_to(resident)
            except Exception:  # it has to go on looking, whatever it was
                log.exception("looking after the loaded models failed")

    async def _see_to(self, resident: Resident) -> None:
        if resident.uses or resident.over or not resident.runs:
            return
        name, settings = resident.file.name, resident.file.settings
        if await asyncio.to_thread(lambda: resident.file.changed):
            await self._renew(resident)
        elif not settings.pinned and 0 < settings.idle_s <= resident.idle_s:
            log.info("%s is unloaded: nobody asked for %.0f s", name, resident.idle_s)
            await self._unload(resident, "unloaded")

    async def _renew(self, resident: Resident) -> None:
        """Its files have changed: load them, unless they are refused; then what runs goes on."""
        name = resident.file.name
        file = (await self._catalogue.scan()).get(name)
        if resident.uses or (file is not None and file.refused is not None):
            return
        log.info("%s is %s", name, "gone" if file is None else "loaded anew: its files changed")
        await self._unload(resident, "files_changed")
        if file is not None:
            try:
                await self._load(file)
            except EngineError as error:
                log.error("%s", error)


def _check_kind(file: ModelFile, kind: ModelKind | None) -> None:
    if kind == "text" and file.kind == "embeddings":
        raise Refused(why("embeds_only", model=file.name))
    if kind == "embeddings" and file.kind == "text":
        raise Refused(why("writes_only", model=file.name))
