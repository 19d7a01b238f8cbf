"""The secret key of this installation: made once, readable by its owner only."""

from __future__ import annotations

import os
import secrets
from pathlib import Path


def ensure(data: Path) -> Path:
    """The file with the key, made at the first call; complete or not there at all."""
    file = data / "secret-key"
    if not file.exists():
        new = data / "secret-key.new"
        descriptor = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(descriptor, "w") as handle:
            handle.write(secrets.token_urlsafe(50))
            handle.flush()
            os.fsync(handle.fileno())
        new.replace(file)
    return file
