"""A folder that only this user enters and that does not outlive its process for long.

Knows nothing of what its files hold.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator
from io import BufferedReader
from pathlib import Path
from typing import BinaryIO

PREFIX = "konak-states-"


def default_directory() -> Path:
    """Where states go when nobody says: this user's own place for large temporary files.

    Not the usual temporary directory: that is often memory, which is what a spill is to save.
    """
    return Path("/var/tmp") / f"konak-{os.geteuid()}"  # noqa: S108 - its owner is checked


def sweep(directory: Path) -> None:
    """Remove what processes left in ``directory`` that ended without ``close``. Raises nothing."""
    with contextlib.suppress(OSError), _alone(directory):
        _sweep(directory)


@contextlib.contextmanager
def _alone(directory: Path) -> Iterator[None]:
    """One process at a time, and only in a directory that nobody else can have prepared."""
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    try:
        if os.fstat(descriptor).st_uid != os.geteuid():
            raise PermissionError(errno.EPERM, "It belongs to another user", str(directory))
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def _sweep(directory: Path) -> None:
    for folder in directory.glob(f"{PREFIX}*"):
        with contextlib.suppress(OSError):  # no folder, or its process lives: left alone
            descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(folder)
            finally:
                os.close(descriptor)


class Folder:
    """A new folder that only this user enters, locked as long as its process lives."""

    def __init__(self, directory: Path) -> None:
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        with _alone(directory):
            _sweep(directory)
            self._path = tempfile.mkdtemp(prefix=PREFIX, dir=directory)
            self._descriptor = os.open(self._path, os.O_RDONLY | os.O_DIRECTORY)
            fcntl.flock(self._descriptor, fcntl.LOCK_EX)

    def create(self, name: str) -> BinaryIO:
        """A new file to write. Raises ``OSError``."""
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL
        return os.fdopen(os.open(name, flags, 0o600, dir_fd=self._descriptor), "wb")

    def open(self, name: str) -> BufferedReader:
        """The file to read. Raises ``OSError``."""
        flags = os.O_RDONLY | os.O_NOFOLLOW
        return os.fdopen(os.open(name, flags, dir_fd=self._descriptor), "rb")

    def delete(self, name: str) -> None:
        """Nothing where there is no such file."""
        with contextlib.suppress(OSError):
            os.unlink(name, dir_fd=self._descriptor)

    def remove(self) -> None:
        """The folder and everything in it. Not to be used again."""
        shutil.rmtree(self._path, ignore_errors=True)
        os.close(self._descriptor)
