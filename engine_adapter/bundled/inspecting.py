"""A model's file that is not served yet, read as the catalogue reads those that are.

Looks only into the folder in which files arrive; loads and moves nothing.
"""

from __future__ import annotations

from pathlib import Path

from engine_adapter.arriving import INCOMING
from engine_adapter.bundled import own_settings
from engine_adapter.bundled.catalogue import ModelFile, Weights
from engine_adapter.bundled.config import Settings
from engine_adapter.bundled.gguf import Damaged
from engine_adapter.bundled.header import read_header
from engine_adapter.bundled.own_settings import BadSettings
from engine_adapter.errors import Refused
from engine_adapter.reasons import Reason, why


def read(directory: Path, file: str, name: str, defaults: Settings) -> ModelFile:
    """``file`` of the folder of arrivals in ``directory``, as it would be served as ``name``, a
    file's name too; ``refused`` where it could not be. Raises ``Refused`` where either is more
    than a name."""
    for each in (file, name):
        if each in {"", ".", ".."} or "/" in each or "\0" in each:
            raise Refused(why("no_model", model=repr(each)[:100]))
    path, stem = directory / INCOMING / file, Path(name).stem
    stamp = (0, 0)
    try:
        status = path.stat()
        stamp = status.st_size, status.st_mtime_ns
        weights = Weights(path, stamp, read_header(path), None)
        own = own_settings.read(directory / f"{stem}.toml", defaults)
    except (Damaged, BadSettings) as error:
        return _refused(path, stem, stamp, error.why, defaults)
    except OSError as error:
        reason = why("unreadable", file=name, system=error.strerror or "?")
        return _refused(path, stem, stamp, reason, defaults)
    embeds = weights.header is not None and weights.header.embeds
    kind = own.kind or ("embeddings" if embeds else "text")
    return ModelFile(stem.lower(), weights, own.settings, kind)


def _refused(
    path: Path, stem: str, stamp: tuple[int, int], reason: Reason, settings: Settings
) -> ModelFile:
    return ModelFile(stem.lower(), Weights(path, stamp, None, reason), settings, refused=reason)
