"""The header of a model file: right ones are read, broken ones refused with a sentence."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from engine_adapter.bundled.config import Settings
from engine_adapter.bundled.fit import need
from engine_adapter.bundled.gguf import Damaged
from engine_adapter.bundled.header import Header, Shape, read_header
from tests.gguf import ENTRIES, model

WHOLE = model()
RICH = model(
    {
        **ENTRIES,
        "llama.block_count": 2,
        "llama.embedding_length": 64,
        "llama.feed_forward_length": [64, 128],
        "llama.attention.head_count": 4,
        "llama.attention.head_count_kv": [2, 2],
    }
)


def read(data: bytes, folder: Path) -> Header:
    path = folder / "model.gguf"
    path.write_bytes(data)
    return read_header(path)


def test_a_right_header_is_read(tmp_path: Path) -> None:
    header = read(WHOLE, tmp_path)
    assert header == Header(
        "llama", 2048, "Küçük", "Q4_1", len(WHOLE), weights_bytes=40, shape=Shape(vocabulary=3),
        parameters=64,
    )  # fmt: skip
    assert read(model(version=2), tmp_path).architecture == "llama"


def test_the_starter_model_is_read(starter_model: Path) -> None:
    header = read_header(starter_model)
    assert (header.architecture, header.context_length) == ("llama", 8192)
    assert (header.quantization, header.size_bytes) == ("Q4_1", starter_model.stat().st_size)
    assert header.shape == Shape(
        vocabulary=49152,
        embedding=576,
        feed_forward=1536,
        heads=9,
        kv_heads=(3,) * 30,
        key_length=64,
        value_length=64,
    )
    assert not (header.embeds or header.is_adapter)


def test_what_is_told_layer_by_layer_is_kept_and_other_arrays_are_not(tmp_path: Path) -> None:
    told = {**ENTRIES, "llama.block_count": 3, "llama.attention.head_count_kv": [4, 0, 2]}
    told |= {"llama.attention.key_length": 8, "llama.attention.value_length": 6}
    shape = read(model(told), tmp_path).shape
    assert (shape.kv_heads, shape.key_length, shape.value_length) == ((4, 0, 2), 8, 6)
    assert read(model({**ENTRIES, "x.attention.head_count": ["a"]}), tmp_path).context_length


@pytest.mark.parametrize(
    ("entries", "embeds"),
    [
        ({}, False),
        ({"llama.pooling_type": 0}, False),
        ({"llama.pooling_type": 1}, True),
        ({"general.architecture": "bert", "bert.context_length": 512}, True),
    ],
)
def test_a_model_that_embeds_says_so(
    entries: dict[str, int | str], embeds: bool, tmp_path: Path
) -> None:
    assert read(model({**ENTRIES, **entries}), tmp_path).embeds is embeds


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
        (model({**ENTRIES, "general.architecture": "clip"}), "no language model"),
        (model({**ENTRIES, "general.type": "adapter", "adapter.type": "x"}), "than LoRA"),
        (model({**ENTRIES, "llama.block_count": 1 << 30}), "block_count"),
        (model({**ENTRIES, "llama.attention.head_count_kv": [1, 1 << 30]}), "head_count_kv"),
        (model({**ENTRIES, "llama.embedding_length": "big"}), "embedding_length"),
        (WHOLE[:-1], "cut short"),
    ],
)
def test_a_broken_file_is_refused_with_a_reason(data: bytes, words: str, tmp_path: Path) -> None:
    with pytest.raises(Damaged, match=words):
        read(data, tmp_path)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=300)
@given(st.lists(st.tuples(st.integers(0, len(RICH) - 1), st.integers(0, 255)), max_size=8))
def test_a_mutated_file_is_read_or_refused_and_nothing_else(
    tmp_path: Path, changes: list[tuple[int, int]]
) -> None:
    data = bytearray(RICH)
    for place, value in changes:
        data[place] = value
    try:
        header = read(bytes(data), tmp_path)
    except Damaged as damage:
        assert str(damage).endswith(".")
    else:
        assert header.size_bytes == len(RICH)
        assert need(header, Settings()).total > 0
