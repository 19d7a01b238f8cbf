"""Static files: gathered, named by content and compressed once, not at every start."""

from __future__ import annotations

import hashlib
from pathlib import Path

from django.conf import settings
from django.contrib.staticfiles.finders import get_finders
from django.core.management import call_command

_STAMP = ".gathered"


def gather() -> bool:
    """Collect the static files when one of them has changed since; whether that was so."""
    stamp = Path(settings.STATIC_ROOT) / _STAMP
    state = _state()
    if stamp.exists() and stamp.read_text() == state:
        return False
    call_command("collectstatic", interactive=False, clear=True, verbosity=0)
    stamp.write_text(state)
    return True


def _state() -> str:
    """A digest of every source's name, size and time of change."""
    digest = hashlib.sha256()
    for finder in get_finders():
        for name, storage in finder.list([]):
            file = Path(storage.path(name))
            told = file.stat()
            digest.update(f"{name}\0{file}\0{told.st_size}\0{told.st_mtime_ns}\0".encode())
    return digest.hexdigest()
