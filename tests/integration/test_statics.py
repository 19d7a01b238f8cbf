"""Static files are gathered when they changed, and left alone when not."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from deploy import statics


@pytest.fixture
def source(settings: Any, tmp_path: Path) -> Path:
    """A folder of sources with one file, and an empty place to gather into."""
    folder = tmp_path / "source"
    folder.mkdir()
    (folder / "page.css").write_text("p { color: red }")
    settings.STATICFILES_DIRS = [folder]
    settings.STATICFILES_FINDERS = ["django.contrib.staticfiles.finders.FileSystemFinder"]
    settings.STATIC_ROOT = tmp_path / "static"
    return folder


def gathered(settings: Any) -> set[str]:
    """What stands behind the plain names."""
    return {p.read_text() for p in Path(settings.STATIC_ROOT).glob("page.css")}


def test_gathers_once_and_again_after_a_change(source: Path, settings: Any) -> None:
    assert statics.gather()
    assert gathered(settings) == {"p { color: red }"}
    assert not statics.gather()

    (source / "page.css").write_text("p { color: darkred }")
    assert statics.gather()
    assert gathered(settings) == {"p { color: darkred }"}


def test_what_is_gone_is_not_served_any_more(source: Path, settings: Any) -> None:
    (source / "old.css").write_text("p { color: blue }")
    assert statics.gather()
    (source / "old.css").unlink()
    assert statics.gather()
    assert not list(Path(settings.STATIC_ROOT).glob("old*"))
