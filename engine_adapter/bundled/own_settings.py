"""A model's own settings: the optional TOML file beside it, ``<name>.toml``."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, get_args

from engine_adapter.bundled.config import Settings
from engine_adapter.types import ModelKind

LARGEST = 1 << 16  # bytes
KINDS = get_args(ModelKind)
FIELDS = {
    "slots": int, "context": int, "threads": int, "batch": int, "kv_type": str,
    "flash_attention": str, "gpu_layers": int, "pinned": bool, "idle_s": float, "cache_mib": int,
}  # fmt: skip
WORDS = {int: "a whole number", float: "a number", str: "a text", bool: "true or false"}
KNOWN = (*FIELDS, "kind", "base")


class BadSettings(ValueError):
    """The file cannot be used; the message names it and the key."""


@dataclass(frozen=True, slots=True)
class OwnSettings:
    """How this model is run, and what it says of itself: None is what its header tells."""

    settings: Settings
    kind: ModelKind | None = None
    base: str | None = None


def read(path: Path, defaults: Settings) -> OwnSettings:
    """The file's settings over ``defaults``, or these alone where there is no file. Raises
    ``BadSettings``."""
    try:
        with path.open("rb") as file:
            data = file.read(LARGEST + 1)
    except FileNotFoundError:
        return OwnSettings(defaults)
    except OSError as error:
        raise BadSettings(f"{path.name} cannot be read: {error.strerror}.") from None
    if len(data) > LARGEST:
        raise BadSettings(f"{path.name} is larger than {LARGEST} bytes.")
    try:
        told = tomllib.loads(data.decode())
    except (ValueError, RecursionError) as error:
        raise BadSettings(f"{path.name} is no TOML: {error}.") from None
    return _checked(path.name, told, defaults)


def _checked(file: str, told: dict[str, Any], defaults: Settings) -> OwnSettings:
    settings = defaults
    for key, value in told.items():
        if key not in KNOWN:
            raise BadSettings(f"{file}: '{key}' is unknown; known are {', '.join(KNOWN)}.")
        wanted = FIELDS.get(key, str)
        fits = isinstance(value, int | float) if wanted is float else isinstance(value, wanted)
        if not fits or (isinstance(value, bool) and wanted is not bool):
            raise BadSettings(f"{file}: '{key}' must be {WORDS[wanted]}, not {value!r:.60}.")
        if key in FIELDS:
            try:
                settings = replace(settings, **{key: value})
            except ValueError as error:
                raise BadSettings(f"{file}: {error}.") from None
    kind = told.get("kind")
    if kind is not None and kind not in KINDS:
        raise BadSettings(f"{file}: kind must be one of {', '.join(KINDS)}, not {kind:.60}.")
    base = told.get("base")
    return OwnSettings(settings, kind, base.lower() if base is not None else None)
