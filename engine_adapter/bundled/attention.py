"""How keys and values are stored and attended to, by llama.cpp's own numbers."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class CacheType:
    """How keys and values are stored: ggml's number, and the bytes of one element."""

    ggml: int
    bytes_each: float


CACHE_TYPES = {
    "f16": CacheType(1, 2.0),
    "bf16": CacheType(30, 2.0),
    "q8_0": CacheType(8, 34 / 32),
    "q5_1": CacheType(7, 24 / 32),
    "q4_0": CacheType(2, 18 / 32),
}
FLASH_ATTENTION = {"auto": -1, "on": 1, "off": 0}  # llama.h: llama_flash_attn_type
AUTO = "auto"
# On 2 cores with AMX and bf16, tokens/s of 8 / 32 answers: bf16 with flash attention 390 / 493,
# without 282 / 317; f16 with 262 / 305. Far into a conversation f16 with flash attention takes
# twice the time of a step, and bf16 twice that of reading one long prompt alone.
ON_PROCESSORS, ON_CARDS = "bf16", "f16"


def cache_type(name: str, *, card: bool = False) -> CacheType:
    """The type of this name; ``auto`` depends on whether a graphics card computes."""
    chosen = ON_CARDS if card else ON_PROCESSORS
    return CACHE_TYPES[chosen if name == AUTO else name]


def flash_attention(name: str, *, card: bool = False) -> int:
    """llama.cpp's number for with (1), without (0) or its own choice (-1)."""
    return 1 if name == AUTO and not card else FLASH_ATTENTION[name]


def reading_lanes(slots: int, name: str, flash: str, *, card: bool = False) -> int:
    """Lanes of a second context, in f16, for prompts that are read; 0 where none is of use.

    ggml's flash attention takes 64 tokens of a lane in one go where keys and values are f16, and
    one at a time where they are bf16. On 2 cores SmolLM2 read 1,350 tokens behind each other in
    1.2 s in the one and in 3.3 s in the other; but wrote with 8 answers of 1,000 tokens a token
    each in 153 ms in the one and in 59 ms in the other.
    """
    if card or name != AUTO or flash == "off":
        return 0
    return max(1, slots // 4)


def rest_tokens(slots: int, context: int) -> int:
    """Tokens of a third context, where rests of prompts are read (``llama/rests.py``): enough for
    a system prompt of two pages and what 32 ask; 0 where nobody shares anything."""
    return min(2048, slots * context) if slots > 1 else 0
