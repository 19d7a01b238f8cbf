"""The header of a model file: right ones are read, broken ones refused with a sentence."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from engine_adapter.bundled.gguf import Damaged, Header, read_header

U32, STRING, ARRAY = 4, 8, 9


def text(value: str) -> bytes:
    return struct.pack("<Q", len(value.encode())) + value.encode()


def entry(key: str, value: int | str | list[str]) -> bytes:
    if isinstance(value, int):
        return text(key) + struct.pack("<II", U32, value)
    if isinstance(value, str):
        return text(key) + struct.pack("<I", STRING) + text(value)
    head = text(key) + struct.pack("<IIQ", ARRAY, STRING, len(value))
    return head + b"".join(map(text, value))


ENTRIES: dict[str, int | str | list[str]] = {
    "general.architecture": "llama",
    "general.name": "Küçük",
    "general.file_type": 3,
    "llama.context_length": 2048,
    "tokenizer.ggml.tokens": ["a", "b", "🌊"],
}


def model(entries: dict[str, int | str | list[str]] = ENTRIES, *, version: int = 3) -> bytes:
    """A file with one tensor of 2 × 32 elements in Q4_1: 40 bytes."""
    head = b"GGUF" + struct.pack("<IQQ", version, 1, len(entries))
    head += b"".join(entry(key, value) for key, value in entries.items())
    head += text("output.weight") + struct.pack("<IQQIQ", 2, 32, 2, 3, 0)
    return head + b"\0" * (-len(head) % 32) + b"\1" * 40


WHOLE = model()


def read(data: bytes, folder: Path) -> Header:
    path = folder / "model.gguf"
    path.write_bytes(data)
    return read_header(path)


def test_a_right_header_is_read(tmp_path: Path) -> None:
    header = read(WHOLE, tmp_path)
    assert header == Header("llama", 2048, "Küçük", "Q4_1", len(WHOLE))
    assert read(model(version=2), tmp_path).architecture == "llama"


def test_the_starter_model_is_read(starter_model: Path) -> None:
    header = read_header(starter_model)
    assert (header.architecture, header.context_length) == ("llama", 8192)
    assert (header.quantization, header.size_bytes) == ("Q4_1", starter_model.stat().st_size)


def test_every_cut_file_is_refused(tmp_path: Path) -> None:
    for length in range(len(WHOLE)):
        with pytest.raises(Damaged):
            read(WHOLE[:length], tmp_path)


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", "ends in the middle"),
        (b"PK\x03\x04" + WHOLE[4:], "not a GGUF file"),
        (model(version=1), "version 1"),
        (b"GGUF" + struct.pack("<IQQ", 3, 1 << 60, 1), "claims to hold"),
        (b"GGUF" + struct.pack("<IQQ", 3, 1, 1 << 60), "claims to hold"),
        (b"GGUF" + struct.pack("<IQQQ", 3, 1, 1, 0) + b"x" * 99, "key"),
        (b"GGUF" + struct.pack("<IQQ", 3, 0, 0) + b"x" * 99, "no weights"),
        (model({**ENTRIES, "general.alignment": 0}), "alignment"),
        (model({k: v for k, v in ENTRIES.items() if "arch" not in k}), "architecture"),
        (model({**ENTRIES, "general.architecture": "mamba"}), "context length"),
        (WHOLE[:-1], "cut short"),
    ],
)
def test_a_broken_file_is_refused_with_a_reason(data: bytes, words: str, tmp_path: Path) -> None:
    with pytest.raises(Damaged, match=words):
        read(data, tmp_path)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=300)
@given(st.lists(st.tuples(st.integers(0, len(WHOLE) - 1), st.integers(0, 255)), max_size=8))
def test_a_mutated_file_is_read_or_refused_and_nothing_else(
    tmp_path: Path, changes: list[tuple[int, int]]
) -> None:
    data = bytearray(WHOLE)
    for place, value in changes:
        data[place] = value
    try:
        header = read(bytes(data), tmp_path)
    except Damaged as damage:
        assert str(damage).endswith(".")
    else:
        assert header.size_bytes == len(WHOLE)
