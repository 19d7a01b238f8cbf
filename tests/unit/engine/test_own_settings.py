"""A model's own file: read over the host's settings, and refused with file and key."""

from __future__ import annotations

from pathlib import Path

import pytest

from engine_adapter.bundled.config import Settings
from engine_adapter.bundled.own_settings import BadSettings, OwnSettings, read

HOST = Settings(slots=3)


def test_without_a_file_the_hosts_settings_hold(tmp_path: Path) -> None:
    assert read(tmp_path / "m.toml", HOST) == OwnSettings(HOST)


def test_what_the_file_says_goes_before(tmp_path: Path) -> None:
    path = tmp_path / "m.toml"
    path.write_text('context = 512\npinned = true\nidle_s = 5\nkind = "embeddings"\nbase = "B"')
    own = read(path, HOST)
    assert own == OwnSettings(
        Settings(slots=3, context=512, pinned=True, idle_s=5), "embeddings", "b"
    )


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"slot = 3", "m.toml: 'slot' is unknown; known are slots, context"),
        (b"spin = 3", "'spin' is unknown"),
        (b"slots = 0", "m.toml: slots must lie between 1 and 256, not 0"),
        (b"slots = '3'", "'slots' must be a whole number, not '3'"),
        (b"slots = true", "'slots' must be a whole number"),
        (b"pinned = 1", "'pinned' must be true or false"),
        (b"idle_s = nan", "idle_s must lie between"),
        (b"kv_type = 'q9'", "kv_type must be one of auto"),
        (b"kind = 'vision'", "kind must be one of text, embeddings"),
        (b"slots = ", "m.toml is no TOML"),
        (b"\xff", "m.toml is no TOML"),
        (b"a=" + b"[" * 5000, "m.toml is no TOML"),
        (b"#" * 70_000, "larger than"),
    ],
)
def test_a_wrong_file_is_refused_with_file_and_key(
    content: bytes, words: str, tmp_path: Path
) -> None:
    path = tmp_path / "m.toml"
    path.write_bytes(content)
    with pytest.raises(BadSettings) as refusal:
        read(path, HOST)
    assert words in str(refusal.value)
    assert str(refusal.value).endswith(".")
