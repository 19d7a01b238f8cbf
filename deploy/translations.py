"""Translations: compiled with Babel, so that no machine needs the gettext tools."""

from __future__ import annotations

from pathlib import Path

from babel.messages.mofile import write_mo
from babel.messages.pofile import read_po


def compile_all(root: Path) -> list[Path]:
    """Compile every catalogue under ``root`` that is newer than its compiled form."""
    compiled = []
    for source in sorted(root.glob("*/LC_MESSAGES/*.po")):
        target = source.with_suffix(".mo")
        if target.exists() and target.stat().st_mtime >= source.stat().st_mtime:
            continue
        with source.open("rb") as file:
            catalogue = read_po(file, locale=source.parts[-3])
        fresh = target.with_suffix(".new")
        with fresh.open("wb") as file:
            write_mo(file, catalogue)
        fresh.replace(target)
        compiled.append(target)
    return compiled
