"""GGUF files written by hand: a small head, and LoRA adapters that fit the starter model."""

from __future__ import annotations

import math
import struct
from collections.abc import Mapping, Sequence

import numpy as np

U32, F32, BOOL, STRING, ARRAY = 4, 6, 7, 8, 9
Value = bool | int | float | str | Sequence[str] | Sequence[int]

ENTRIES: dict[str, Value] = {
    "general.architecture": "llama",
    "general.name": "Küçük",
    "general.file_type": 3,
    "llama.context_length": 2048,
    "tokenizer.ggml.tokens": ["a", "b", "🌊"],
}


def text(value: str) -> bytes:
    return struct.pack("<Q", len(value.encode())) + value.encode()


def entry(key: str, value: Value) -> bytes:
    if isinstance(value, bool):
        return text(key) + struct.pack("<IB", BOOL, value)
    if isinstance(value, int):
        return text(key) + struct.pack("<II", U32, value)
    if isinstance(value, float):
        return text(key) + struct.pack("<If", F32, value)
    if isinstance(value, str):
        return text(key) + struct.pack("<I", STRING) + text(value)
    kind = STRING if isinstance(value[0], str) else U32
    head = text(key) + struct.pack("<IIQ", ARRAY, kind, len(value))
    return head + b"".join(text(v) if isinstance(v, str) else struct.pack("<I", v) for v in value)


def model(entries: Mapping[str, Value] = ENTRIES, *, version: int = 3) -> bytes:
    """A file with one tensor of 2 × 32 elements in Q4_1: 40 bytes."""
    head = b"GGUF" + struct.pack("<IQQ", version, 1, len(entries))
    head += b"".join(entry(key, value) for key, value in entries.items())
    head += text("output.weight") + struct.pack("<IQQIQ", 2, 32, 2, 3, 0)
    return head + b"\0" * (-len(head) % 32) + b"\1" * 40


def adapter(scale: float, *, width: int = 576, layers: int = 30, rank: int = 4) -> bytes:
    """A LoRA adapter for every layer's queries (``width`` × ``width``); of scale 0 it changes
    nothing."""
    chance = np.random.default_rng(1)
    pairs: list[tuple[str, tuple[int, int], np.ndarray]] = []
    for layer in range(layers):
        a = chance.standard_normal((rank, width)) / math.sqrt(width)
        b = chance.standard_normal((width, rank)) * scale
        pairs.append((f"blk.{layer}.attn_q.weight.lora_a", (width, rank), a))
        pairs.append((f"blk.{layer}.attn_q.weight.lora_b", (rank, width), b))
    entries: dict[str, Value] = {
        "general.architecture": "llama",
        "general.type": "adapter",
        "adapter.type": "lora",
        "adapter.lora.alpha": float(rank),
    }
    head = b"GGUF" + struct.pack("<IQQ", 3, len(pairs), len(entries))
    head += b"".join(entry(key, value) for key, value in entries.items())
    data = b""
    for name, shape, values in pairs:
        head += text(name) + struct.pack("<IQQIQ", 2, *shape, 0, len(data))
        data += values.astype("<f4").tobytes()
        data += b"\0" * (-len(data) % 32)
    return head + b"\0" * (-len(head) % 32) + data


def with_template(file: bytes, template: str) -> bytes:
    """The model ``file`` with another chat template. It grows by whole blocks of 32 bytes, so that
    the tensors stay aligned."""
    key = text("tokenizer.chat_template") + struct.pack("<I", STRING)
    begin = file.index(key) + len(key)
    (length,) = struct.unpack_from("<Q", file, begin)
    data = template.encode()
    data += b" " * ((length - len(data)) % 32)
    return file[:begin] + struct.pack("<Q", len(data)) + data + file[begin + 8 + length :]


def with_entry(file: bytes, key: str, value: Value) -> bytes:
    """The model ``file`` with one more entry. It grows by whole blocks of 32 bytes, as above."""
    version, tensors, entries = struct.unpack_from("<IQQ", file, 4)
    more = entry(key, value)
    padding = -(len(more) + len(entry("tests.padding", ""))) % 32
    more += entry("tests.padding", " " * padding)
    head = b"GGUF" + struct.pack("<IQQ", version, tensors, entries + 2)
    return head + more + file[len(head) :]
