"""A model's own settings: the optional TOML file beside it, ``<name>.toml``."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, get_args

from engine_adapter.bundled.config import BadSetting, Settings
from engine_adapter.reasons import Reason, why
from engine_adapter.types import ModelKind

LARGEST = 1 << 16  # bytes
KINDS = get_args(ModelKind)
FIELDS = {
    "slots": int, "context": int, "threads": int, "batch": int, "kv_type": str,
    "flash_attention": str, "gpu_layers": int, "pinned": bool, "idle_s": float, "cache_mib": int,
}  # fmt: skip
KNOWN = (*FIELDS, "kind", "base")


class BadSettings(ValueError):
    """The file cannot be used; ``why`` names it and the key."""

    def __init__(self, reason: Reason) -> None:
        super().__init__(str(reason))
        self.why = reason


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
        raise _unreadable(path.name, error) from None
    if len(data) > LARGEST:
        raise BadSettings(why("settings_large", file=path.name, most=LARGEST))
    try:
        told = tomllib.loads(data.decode())
    except (ValueError, RecursionError) as error:
        raise BadSettings(why("settings_no_toml", file=path.name, words=str(error)[:200])) from None
    return _checked(path.name, told, defaults)


def _checked(file: str, told: dict[str, Any], defaults: Settings) -> OwnSettings:
    settings = defaults
    for key, value in told.items():
        if key not in KNOWN:
            raise _bad(file, why("setting_unknown", key=key[:60], known=", ".join(KNOWN)))
        wanted = FIELDS.get(key, str)
        fits = isinstance(value, int | float) if wanted is float else isinstance(value, wanted)
        if not fits or (isinstance(value, bool) and wanted is not bool):
            code = f"setting_{wanted.__name__}"
            raise _bad(file, why(code, key=key, value=f"{value!r:.60}"))
        if key in FIELDS:
            try:
                settings = replace(settings, **{key: value})
            except BadSetting as error:
                raise _bad(file, error.why) from None
    kind = told.get("kind")
    if kind is not None and kind not in KINDS:
        known = ", ".join(KINDS)
        raise _bad(file, why("setting_choice", key="kind", known=known, value=kind[:60]))
    base = told.get("base")
    return OwnSettings(settings, kind, base.lower() if base is not None else None)


def _bad(file: str, reason: Reason) -> BadSettings:
    return BadSettings(why("settings_bad", reason, file=file))


def _unreadable(file: str, error: OSError) -> BadSettings:
    return BadSettings(why("settings_unreadable", file=file, system=str(error.strerror)))
