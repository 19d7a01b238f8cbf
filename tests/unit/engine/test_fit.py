"""What a model will take is said before it is loaded."""

from __future__ import annotations

from pathlib import Path

import pytest

from engine_adapter.bundled.config import Settings
from engine_adapter.bundled.fit import need
from engine_adapter.bundled.header import Header, Shape, read_header
from engine_adapter.reasons import why

MIB = 1 << 20


@pytest.mark.parametrize(
    ("told", "states"),
    [
        # llama.cpp's own words for SmolLM2: "KV buffer size = … MiB"
        ({"kv_type": "bf16"}, 720.0),
        ({}, 945.0),  # with two reading lanes and 2,048 tokens for rests
        ({"kv_type": "q8_0"}, 382.5),
        ({"slots": 32, "context": 1024}, 945.0),
        ({"slots": 1, "context": 8192}, 360.0),
        ({"slots": 1, "context": 100_000}, 360.0),  # it was trained for 8,192
    ],
)
def test_keys_and_values_are_counted_exactly(
    told: dict[str, int | str], states: float, starter_model: Path
) -> None:
    header = read_header(starter_model)
    assert need(header, Settings(**told)).states == states * MIB  # type: ignore[arg-type] # a table


@pytest.mark.parametrize(
    ("told", "buffer"),
    [
        # measured: "compute buffer size" and "output buffer size"
        ({"kv_type": "bf16"}, 19.0),
        ({"flash_attention": "off"}, 87.9),
        ({"slots": 1, "context": 8192, "batch": 2048, "kv_type": "bf16"}, 86.2),
    ],
)
def test_what_computing_takes_is_estimated_within_a_fifth(
    told: dict[str, int | str], buffer: float, starter_model: Path
) -> None:
    header = read_header(starter_model)
    idle = need(header, Settings(slots=1, context=256, batch=32, kv_type="bf16"))
    more = need(header, Settings(**told)).buffers - idle.buffers  # type: ignore[arg-type] # a table
    assert 0.8 * buffer < more / MIB + 2 < 1.2 * buffer


def test_the_sentence_has_the_numbers() -> None:
    shape = Shape(vocabulary=1000, embedding=4096, heads=32, kv_heads=(8,) * 32, key_length=128)
    header = Header("llama", 131_072, None, None, 0, weights_bytes=4_700_000_000, shape=shape)
    facts = need(header, Settings(cache_mib=0, kv_type="f16")).facts
    words = str(why("no_room_now", model="big", free_bytes=3_000_000_000, **facts))
    assert words.startswith(
        "The model big needs 7.0 GB (4.7 GB weights, 2.1 GB memory for 8 × 4096 tokens,"
        " 0.2 GB to compute, 0 MB for prompts that were read); 3.0 GB are free."
    )


def test_recurrent_layers_and_layers_without_keys_are_counted() -> None:
    hybrid = Shape(kv_heads=(4, 0), key_length=10, value_length=10, state=1000)
    header = Header("jamba", 4096, None, None, 0, shape=hybrid)
    lanes, states = 8 * 4096 * 4 * 20 * 2, 4 * 8 * 2 * 1000
    assert need(header, Settings()).states == lanes + states


def test_an_embedder_keeps_no_lane_a_slot_and_an_encoder_none(starter_model: Path) -> None:
    header = read_header(starter_model)
    assert need(header, Settings(), "embeddings").states == 90 * MIB
    encoder = Header("bert", 512, None, None, 0, shape=header.shape)
    assert need(encoder, Settings(), "embeddings").states == 0
