"""The model files of a directory: which there are, what they tell, and their fingerprints.

Reads headers and settings only; loads nothing. A model's name is its file's, without suffix, in
lower case. A LoRA adapter is a model of its own, laid over its base.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
from dataclasses import dataclass, field, replace
from pathlib import Path

from engine_adapter.bundled import fit, own_settings
from engine_adapter.bundled.config import Settings
from engine_adapter.bundled.gguf import Damaged
from engine_adapter.bundled.header import Header, read_header
from engine_adapter.bundled.loading import Loading
from engine_adapter.bundled.own_settings import BadSettings, OwnSettings
from engine_adapter.reasons import Reason, why
from engine_adapter.types import ModelKind

log = logging.getLogger(__name__)

Stamp = tuple[int, int]  # size in bytes and time of the last change in ns


@dataclass(slots=True, eq=False)
class Weights:
    """One GGUF file. ``header`` is None where it is ``refused`` for the reason given there."""

    path: Path
    stamp: Stamp
    header: Header | None
    refused: Reason | None
    sha256: str | None = None


@dataclass(slots=True, eq=False)
class ModelFile:
    """One model: its ``weights``, its settings, and of an adapter the ``base`` under it.

    ``refused`` says why it cannot be served; ``marks`` are the stamps of all its files.
    """

    name: str
    weights: Weights
    settings: Settings
    kind: ModelKind = "text"
    base: ModelFile | None = None
    refused: Reason | None = None
    marks: dict[Path, Stamp | None] = field(default_factory=dict)

    @property
    def changed(self) -> bool:
        """Whether other files, or none, lie there now."""
        return any(_stamp(path) != stamp for path, stamp in self.marks.items())

    @property
    def sha256(self) -> str | None:
        """Names what computes: the file, or an adapter's file and its base's together (as hex, one
        after the other). None as long as not all is read."""
        own = self.weights.sha256
        if self.base is None or own is None or self.base.weights.sha256 is None:
            return own if self.base is None else None
        return hashlib.sha256(f"{own}{self.base.weights.sha256}".encode()).hexdigest()

    @property
    def loading(self) -> Loading:
        """What a worker must be told."""
        if self.base is None:
            return Loading(self.weights.path, self.settings, kind=self.kind)
        under, over = self.base.weights.path, self.weights.path
        return Loading(under, self.settings, adapter=over, kind=self.kind)

    @property
    def header(self) -> Header | None:
        """Of the file that computes: an adapter's base; None of a refused model."""
        return self.weights.header if self.base is None else self.base.weights.header

    @property
    def need(self) -> fit.Need:
        """The memory it will take. Raises ``ValueError`` of a refused model."""
        if self.header is None:
            raise ValueError(f"{self.name} cannot be loaded")
        over = None if self.base is None else self.weights.header
        return fit.need(self.header, self.settings, self.kind, over)


class Catalogue:
    """Follows the directory: each ``scan`` sees what came, changed and went since the last.
    ``pins`` are what was said of models by name, over what their own files say."""

    def __init__(self, directory: Path, settings: Settings) -> None:
        self.directory = directory
        self.pins: dict[str, bool] = {}
        self._settings = settings
        self._weights: dict[Path, Weights] = {}
        self._files: dict[str, ModelFile] = {}
        self._scanning = asyncio.Lock()
        self._hashing: dict[tuple[Path, Stamp], asyncio.Task[None]] = {}

    async def scan(self) -> dict[str, ModelFile]:
        """All models by name, in the order of their names."""
        async with self._scanning:
            self._files = await asyncio.to_thread(self._look)
            for weights in self._weights.values():
                if weights.header is not None and weights.sha256 is None:
                    self._hash(weights)
            return self._files

    async def fingerprint(self, file: ModelFile) -> str | None:
        """Its SHA-256, waited for; None where a file is gone, or another one by now."""
        for weights in (file.weights, file.base.weights if file.base else None):
            if weights is not None and weights.sha256 is None:
                await asyncio.wait({self._hash(weights)})
        return file.sha256

    async def aclose(self) -> None:
        """Stop what is going on in the background."""
        for task in (tasks := list(self._hashing.values())):
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)

    def _look(self) -> dict[str, ModelFile]:
        seen: dict[Path, Weights] = {}
        told: dict[str, OwnSettings] = {}
        found: dict[str, ModelFile] = {}
        for path in sorted(self.directory.glob("*.[gG][gG][uU][fF]")):
            name = path.stem.lower()
            if (stamp := _stamp(path)) is None or name in found:
                continue  # gone since the directory was read, or the second of one name
            known = self._weights.get(path)
            seen[path] = known if known and known.stamp == stamp else _inspect(path, stamp)
            notes = path.with_suffix(".toml")
            marks = {path: stamp, notes: _stamp(notes)}
            file = ModelFile(name, seen[path], self._settings, marks=marks)
            found[name] = file
            told[name] = self._furnish(file, notes)
        for name, file in found.items():
            if file.weights.header and file.weights.header.is_adapter and not file.refused:
                _find_base(file, told[name].base, found)
            self._say_once(file)
        self._weights = seen
        return found

    def _furnish(self, file: ModelFile, notes: Path) -> OwnSettings:
        """Give a model its own settings and kind, or the reason why it has none."""
        header = file.weights.header
        if header is None:
            file.refused = file.weights.refused
            return OwnSettings(self._settings)
        try:
            own = own_settings.read(notes, self._settings)
        except BadSettings as reason:
            file.refused = why("not_served", reason.why, model=file.name)
            return OwnSettings(self._settings)
        if own.base is not None and not header.is_adapter:
            wrong = why("no_adapter", notes=notes.name, file=file.weights.path.name)
            file.refused = why("not_served", wrong, model=file.name)
        file.settings = own.settings
        if (pinned := self.pins.get(file.name)) is not None:
            file.settings = replace(own.settings, pinned=pinned)
        file.kind = own.kind or ("embeddings" if header.embeds else "text")
        return own

    def _say_once(self, file: ModelFile) -> None:
        known = self._files.get(file.name)
        if file.refused and (known is None or known.refused != file.refused):
            log.warning("%s", file.refused)

    def _hash(self, weights: Weights) -> asyncio.Task[None]:
        key = (weights.path, weights.stamp)
        if key in self._hashing:
            return self._hashing[key]

        async def fingerprint() -> None:
            try:
                found = await asyncio.to_thread(_sha256, weights.path)
                if _stamp(weights.path) == weights.stamp:  # else it is another file's
                    weights.sha256 = found
            except OSError as error:
                log.warning("no fingerprint of %s: %s", weights.path.name, error)
            finally:
                del self._hashing[key]

        task = self._hashing[key] = asyncio.create_task(fingerprint())
        return task


def _find_base(file: ModelFile, named: str | None, found: dict[str, ModelFile]) -> None:
    """The model an adapter belongs to: the one it names, else the only one that it can be."""
    architecture = file.weights.header.architecture if file.weights.header else ""
    can = [
        other
        for other in found.values()
        if other.weights.header is not None
        and not other.weights.header.is_adapter
        and other.weights.header.architecture == architecture
    ]
    if named is not None:
        can = [other for other in can if other.name == named]
        reason = why("base_missing", base=named, architecture=architecture)
    else:
        can = [other for other in can if other.kind == "text"]
        names = ", ".join(other.name for other in can)[:200] or "–"
        notes = f"{file.weights.path.stem}.toml"
        reason = why("base_unclear", architecture=architecture, names=names, notes=notes)
    if len(can) != 1:
        file.refused = why("adapter_refused", reason, model=file.name)
        return
    [base] = can
    file.base = base
    file.marks |= {base.weights.path: base.weights.stamp}


def _stamp(path: Path) -> Stamp | None:
    """None where there is no file."""
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_size, status.st_mtime_ns


def _inspect(path: Path, stamp: Stamp) -> Weights:
    try:
        return Weights(path, stamp, read_header(path), None)
    except Damaged as damage:
        reason = why("damaged", damage.why, file=path.name)
    except OSError as error:
        reason = why("unreadable", file=path.name, system=str(error.strerror))
    return Weights(path, stamp, None, reason)


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
