"""The model files of a directory: which there are, what they tell, and their fingerprints.

Reads headers only; loads nothing. A model's name is its file's, without suffix, in lower case.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
from dataclasses import dataclass
from pathlib import Path

from engine_adapter.bundled.gguf import Damaged, Header, read_header

log = logging.getLogger(__name__)

Stamp = tuple[int, int]  # size in bytes and time of the last change in ns


@dataclass(slots=True, eq=False)
class ModelFile:
    """One file. ``header`` is None where it is ``refused`` for the reason given there."""

    name: str
    path: Path
    stamp: Stamp
    header: Header | None
    refused: str | None
    sha256: str | None = None

    @property
    def changed(self) -> bool:
        """Whether another file, or none, lies there now."""
        try:
            return _stamp(self.path) != self.stamp
        except OSError:
            return True


class Catalogue:
    """Follows the directory: each ``scan`` sees what came, changed and went since the last."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self._files: dict[str, ModelFile] = {}
        self._scanning = asyncio.Lock()
        self._hashing: dict[Stamp, asyncio.Task[None]] = {}

    async def scan(self) -> dict[str, ModelFile]:
        """All model files by name, in the order of their names."""
        async with self._scanning:
            found = await asyncio.to_thread(self._look)
            for name, file in found.items():
                if file.header is not None and file.sha256 is None:
                    self._hash(name, file)
            self._files = found
            return found

    async def aclose(self) -> None:
        """Stop what is going on in the background."""
        for task in (tasks := list(self._hashing.values())):
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)

    def _look(self) -> dict[str, ModelFile]:
        found: dict[str, ModelFile] = {}
        for path in sorted(self.directory.glob("*.[gG][gG][uU][fF]")):
            name = path.stem.lower()
            try:
                stamp = _stamp(path)
            except OSError:
                continue  # gone since the directory was read
            known = self._files.get(name)
            if known is None or known.path != path or known.stamp != stamp:
                known = _inspect(name, path, stamp)
            found.setdefault(name, known)
        return found

    def _hash(self, name: str, file: ModelFile) -> None:
        if file.stamp in self._hashing:
            return

        async def fingerprint() -> None:
            try:
                file.sha256 = await asyncio.to_thread(_sha256, file.path)
            except OSError as error:
                log.warning("no fingerprint of %s: %s", name, error)
            finally:
                del self._hashing[file.stamp]

        self._hashing[file.stamp] = asyncio.create_task(fingerprint())


def _stamp(path: Path) -> Stamp:
    status = path.stat()
    return status.st_size, status.st_mtime_ns


def _inspect(name: str, path: Path, stamp: Stamp) -> ModelFile:
    try:
        return ModelFile(name, path, stamp, read_header(path), None)
    except Damaged as damage:
        reason = f"The model file {path.name} is damaged or no model: {damage}"
    except OSError as error:
        reason = f"The model file {path.name} cannot be read: {error.strerror}"
    log.warning("%s", reason)
    return ModelFile(name, path, stamp, None, reason)


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
