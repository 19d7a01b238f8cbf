"""The worker's part of a model's arrival: fetched piece by piece, looked into, compared.

What is written down about it is ``chat.domain.arrivals``'.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
import time
from collections.abc import Callable
from contextlib import aclosing
from typing import BinaryIO, Final

from channels.db import database_sync_to_async
from django.conf import settings

from chat.domain import arrivals, catalogue, model_files
from chat.domain.model_files import Refusal
from chat.engines import Engines
from chat.models import ModelArrival
from engine_adapter.arriving import Inspected, Inspector
from engine_adapter.engine import Puller
from engine_adapter.errors import EngineError, Overloaded, Refused, Unreachable
from engine_adapter.reasons import why
from engine_adapter.remote.download import Access, Begun, Download, NotFetched, open_file
from engine_adapter.remote.tunnel import Proxy

log = logging.getLogger(__name__)

TELL_S: Final = 1.0
AGAIN_S: Final = 1.0  # before another try, and longer each time
TRIES: Final = 5  # in which nothing more came, one after the other
MOST_CHANGES: Final = 3
SLOW_S: Final = 300.0
SLOW_BYTES: Final = 3_000_000  # in that time; who sends less would go on for weeks
_BLOCK: Final = 16 << 20
_CUT: Final = {"pull_broke", "cut_off"}
_HUB = ModelArrival.Source.HUB


class _Stopped(Exception):
    """Nobody wants it to go on."""


def bring(row: ModelArrival) -> None:
    """As far as it goes: everything that comes of it is in its row."""
    if row.state == ModelArrival.State.CHECKING:
        _check(row)
    elif row.source == ModelArrival.Source.ENGINE:
        asyncio.run(_pull(row))
    else:
        asyncio.run(_Fetch(row).run())


class _Fetch:
    """One file from one address, tried again while something comes of it."""

    def __init__(self, row: ModelArrival) -> None:
        self._row = row
        self._access = _access()
        self._changes = 0

    async def run(self) -> None:
        row, tries = self._row, 0
        while settings.OUTGOING:
            before = row.received_bytes
            try:
                await self._stretch()
            except NotFetched as error:
                log.info("%s: %s", row.pk, error.code)
                tries = 1 if row.received_bytes > before else tries + 1
                if not error.may_pass:
                    return await _say(arrivals.refuse, row, error.code)
                if tries > TRIES or not row.received_bytes:
                    return await _say(arrivals.halt, row, error.code)
                await asyncio.sleep(AGAIN_S * 2 ** (tries - 1))
                if not await database_sync_to_async(arrivals.goes_on)(row):
                    return None
            except Refusal as refusal:
                if refusal.code != "busy":  # else another worker is at it and tells how far it is
                    await _say(arrivals.halt, row, refusal.code, **refusal.facts)
                return None
            except _Stopped:
                return await _say(arrivals.clear, row)
            else:
                return await _say(arrivals.is_here, row)
        return await _say(arrivals.refuse, row, "off")

    async def _stretch(self) -> None:
        """All that one reply brings."""
        row = self._row
        begun = Begun(row.mark, row.total_bytes or 0, row.received_bytes)
        download = await open_file(row.origin, begun, self._access)
        try:
            self._begin(download, begun)
            model_files.check_room(download.total - download.begin)
            with model_files.writing(row.pk, row.received_bytes) as file:
                await self._write(download, file)
        finally:
            await download.aclose()

    def _begin(self, download: Download, begun: Begun) -> None:
        row = self._row
        row.trouble = ""
        if begun.received and not download.begin:
            changed = (download.mark, download.total) != (begun.mark, begun.total)
            self._changes += changed
            if self._changes > MOST_CHANGES:
                raise NotFetched("changes")
            row.trouble = "changed" if changed else "anew"
        row.received_bytes, row.total_bytes = download.begin, download.total
        row.mark = download.mark
        if row.source == _HUB and download.sha256:
            row.expected_sha256 = download.sha256

    async def _write(self, download: Download, file: BinaryIO) -> None:
        row, told_at = self._row, 0.0
        slow_at, slow_bytes = time.monotonic() + SLOW_S, row.received_bytes + SLOW_BYTES
        async with aclosing(download.pieces()) as pieces:
            async for piece in pieces:
                file.write(piece)
                row.received_bytes += len(piece)
                now = time.monotonic()
                if now - told_at < TELL_S:
                    continue
                file.flush()
                told_at = now
                if not await database_sync_to_async(arrivals.goes_on)(row):
                    raise _Stopped
                model_files.check_room(download.total - row.received_bytes)
                if now > slow_at:
                    if row.received_bytes < slow_bytes:
                        raise Refusal("slow")
                    slow_at, slow_bytes = now + SLOW_S, row.received_bytes + SLOW_BYTES


def _access() -> Access:
    proxy = settings.OUTGOING_PROXY
    return Access(
        ca_file=settings.OUTGOING_CA or None,
        private=settings.OUTGOING_PRIVATE,
        hub=settings.HUB_URL,
        token=settings.HUB_TOKEN,
        proxy=Proxy.at(proxy) if proxy else None,
    )


async def _say(act: Callable[..., object], *what: object, **facts: object) -> None:
    """Have something written down."""
    await database_sync_to_async(act)(*what, **facts)


async def _pull(row: ModelArrival) -> None:
    """The engine fetches it; here is only written down how far it is."""
    engines, told_at = Engines(), 0.0
    try:
        engine = engines.of(row.engine)
        if not isinstance(engine, Puller):
            return await _say(arrivals.refuse, row, "no_pull")
        async with aclosing(engine.pull(row.origin)) as steps:
            async for step in steps:
                row.received_bytes, row.total_bytes = step.done_bytes, step.total_bytes or None
                if time.monotonic() - told_at < TELL_S:
                    continue
                told_at = time.monotonic()
                if not await database_sync_to_async(arrivals.goes_on)(row):
                    return None
        cards = await engine.models()
        await _say(catalogue.refresh, row.engine, cards)
        await _say(arrivals.is_here, row)
    except EngineError as error:
        cut = error.why is not None and error.why.code in _CUT
        if error.cause or cut or isinstance(error, Unreachable | Overloaded):
            await _say(arrivals.halt, row, error.cause or "broke")
        else:
            await _say(arrivals.refuse, row, "not_pulled")
    finally:
        await engines.aclose()
    return None


def _check(row: ModelArrival) -> None:
    """Whether it is whole, what the engine finds in it, and whether it is the one expected."""
    try:
        if model_files.part(row.pk).stat().st_size != row.total_bytes:
            return arrivals.refuse(row, "size")
        if not model_files.begins_as_model(row.pk):
            return arrivals.refuse(row, "not_gguf")
        found = asyncio.run(_inspect(row))
        if found.why is not None:
            return arrivals.refuse(row, "not_taken", why=found.why.as_json())
        sha256 = _sha256(row)
    except EngineError:
        row.trouble = "engine_away"
        arrivals.goes_on(row)  # it is looked at again when this sign of life is old
    except OSError as error:
        arrivals.refuse(row, "system", words=error.strerror or "?")
    except (Refusal, _Stopped):
        pass
    else:
        if row.expected_sha256 not in {"", sha256}:
            return arrivals.refuse(row, "checksum", sha256=sha256)
        arrivals.is_checked(row, sha256=sha256, facts=found.as_json())
    return None


async def _inspect(row: ModelArrival) -> Inspected:
    engines = Engines()
    try:
        engine = engines.of(row.engine)
        if not isinstance(engine, Inspector):
            raise Refused(why("loads_nothing"))
        return await engine.inspect(model_files.part_name(row.pk), row.file_name)
    finally:
        await engines.aclose()


def _sha256(row: ModelArrival) -> str:
    digest, told_at = hashlib.sha256(), time.monotonic()
    with model_files.part(row.pk).open("rb") as file:
        while block := file.read(_BLOCK):
            digest.update(block)
            if time.monotonic() - told_at > TELL_S:
                told_at = time.monotonic()
                if not arrivals.goes_on(row):
                    raise _Stopped
    return digest.hexdigest()
