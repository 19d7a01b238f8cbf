"""The folder of the bundled engine's models, and the one inside it in which files arrive.

Knows names, sizes and moves; not what is in a file. Where the engine runs on another machine there
is no such folder here.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import shutil
import stat
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Final
from uuid import UUID

from django.conf import settings

from engine_adapter.arriving import INCOMING

RESERVE_BYTES: Final = 1_000_000_000  # left to the database, logs and everything else
LONGEST_NAME: Final = 200  # bytes
SUFFIX: Final = ".gguf"
_MAGIC: Final = b"GGUF"


class Refusal(Exception):
    """What was asked for is not done; ``code`` is a word of ``arrival_words``, ``facts`` are what
    its sentence names."""

    def __init__(self, code: str, **facts: int | str) -> None:
        super().__init__(code)
        self.code = code
        self.facts = facts


@dataclass(frozen=True, slots=True)
class File:
    """A file in one of the two folders."""

    name: str
    size: int


def are_here() -> bool:
    """Whether the engine's folder is one of this machine's."""
    return bool(settings.MODELS_DIR) and Path(settings.MODELS_DIR).is_dir()


def folder() -> Path:
    """Where the engine finds its models. Raises ``Refusal``."""
    if not are_here():
        raise Refusal("elsewhere")
    return Path(settings.MODELS_DIR)


def incoming() -> Path:
    """Where files arrive: on the same file system, so that a move is one step. Raises
    ``Refusal``."""
    path = folder() / INCOMING
    try:
        path.mkdir(mode=0o700, exist_ok=True)
    except OSError as error:
        raise _refusal(error) from error
    return path


def part(arrival_id: UUID) -> Path:
    """Where a file lies until it is checked. Raises ``Refusal``."""
    return incoming() / part_name(arrival_id)


def part_name(arrival_id: UUID) -> str:
    """As the engine is told it."""
    return f"{arrival_id}.part"


def checked_name(name: str) -> str:
    """``name`` where it can be a model's: no path, nothing that cannot be seen, not too long.
    Raises ``Refusal``."""
    unseen = any(unicodedata.category(c) in {"Cc", "Cf", "Cs"} for c in name)
    if unseen or "/" in name or "\\" in name or name != name.strip() or name.startswith("."):
        raise Refusal("name")
    if not name.lower().endswith(SUFFIX):
        raise Refusal("suffix")
    if len(name.encode()) > LONGEST_NAME:
        raise Refusal("long_name", most=LONGEST_NAME)
    return name


def check_free(name: str) -> None:
    """Raise ``Refusal`` where the engine has a model of this name, in whatever letters."""
    stem = Path(name).stem.lower()
    if any(Path(file.name).stem.lower() == stem for file in served()):
        raise Refusal("taken", name=name)


def check_room(more_bytes: int) -> None:
    """Raise ``Refusal`` unless so much fits on the disk, and the reserve."""
    free = max(0, shutil.disk_usage(incoming()).free - RESERVE_BYTES)
    if more_bytes > free:
        raise Refusal("disk", need=more_bytes, free=free)


def served() -> list[File]:
    """The files that the engine serves, or would if they were in order."""
    return _listed(folder(), follow=True)


def left_by_hand() -> list[File]:
    """What an administrator of the machine has put where files arrive."""
    return _listed(incoming(), follow=False)


def take_over(name: str, arrival_id: UUID) -> int:
    """A file that was put there by hand becomes an arrival's own; its size. Raises ``Refusal``
    where it is gone: somebody else has taken it."""
    source, target = incoming() / checked_name(name), part(arrival_id)
    try:
        if not stat.S_ISREG(source.lstat().st_mode):
            raise Refusal("gone", name=name)
        source.rename(target)
        return target.stat().st_size
    except FileNotFoundError:
        raise Refusal("gone", name=name) from None
    except OSError as error:
        raise _refusal(error) from error


def give_back(arrival_id: UUID, name: str) -> None:
    """What ``take_over`` did, undone; under another name where this one is in use again."""
    source = part(arrival_id)
    for target in (incoming() / name, incoming() / f"{arrival_id}-{name}"[-LONGEST_NAME:]):
        with contextlib.suppress(OSError):
            os.link(source, target)
            source.unlink()
            return


def drop(arrival_id: UUID) -> None:
    """Nothing of it is left."""
    if are_here():
        part(arrival_id).unlink(missing_ok=True)


def begins_as_model(arrival_id: UUID) -> bool:
    """Whether the first bytes are those of a GGUF file."""
    with part(arrival_id).open("rb") as file:
        return file.read(len(_MAGIC)) == _MAGIC


def move_in(arrival_id: UUID, name: str) -> None:
    """The engine sees the whole file or none, and none is replaced. Raises ``Refusal``."""
    check_free(name)
    source, target = part(arrival_id), folder() / name
    try:
        with source.open("rb") as file:
            os.fsync(file.fileno())
        os.link(source, target)
        source.unlink()
    except FileExistsError:
        raise Refusal("taken", name=name) from None
    except OSError as error:
        raise _refusal(error) from error


def remove(name: str) -> int:
    """The bytes that are free again. Raises ``Refusal``."""
    if name not in {file.name for file in served()}:
        raise Refusal("gone", name=name)
    path = folder() / name
    try:
        size = path.stat().st_size
        path.unlink()
    except OSError as error:
        raise _refusal(error) from error
    return size


@contextlib.contextmanager
def writing(arrival_id: UUID, at: int) -> Iterator[BinaryIO]:
    """The arrival's file, to go on at this byte; nothing lies behind it. Raises ``Refusal``, also
    where somebody else is writing."""
    try:
        with os.fdopen(os.open(part(arrival_id), os.O_RDWR | os.O_CREAT, 0o600), "r+b") as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if file.seek(0, os.SEEK_END) < at:
                raise Refusal("lost")
            file.truncate(at)
            file.seek(at)
            yield file
    except BlockingIOError:
        raise Refusal("busy") from None
    except OSError as error:
        raise _refusal(error) from error


def sweep(kept: set[UUID], before: float) -> None:
    """Remove parts that nobody knows any more and that nobody has touched since."""
    names = {part_name(each) for each in kept}
    for path in incoming().glob("*.part"):
        with contextlib.suppress(OSError):
            if path.name not in names and path.stat().st_mtime < before:
                path.unlink()


def _listed(path: Path, *, follow: bool) -> list[File]:
    found = []
    for each in path.iterdir():
        with contextlib.suppress(OSError):
            status = each.stat() if follow else each.lstat()
            if each.suffix.lower() == SUFFIX and stat.S_ISREG(status.st_mode):
                found.append(File(each.name, status.st_size))
    return sorted(found, key=lambda file: file.name.lower())


def _refusal(error: OSError) -> Refusal:
    if error.errno in {errno.ENOSPC, errno.EDQUOT}:
        return Refusal("full")
    return Refusal("system", words=error.strerror or "?")
