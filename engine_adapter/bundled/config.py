"""The numbers the bundled engine runs by. Knows no environment variables and no files."""

from __future__ import annotations

import os
from dataclasses import dataclass

from engine_adapter.bundled.attention import AUTO, CACHE_TYPES, FLASH_ATTENTION
from engine_adapter.reasons import Reason, why

MOST_SLOTS = 256  # llama.cpp's LLAMA_MAX_SEQ


class BadSetting(ValueError):
    """A number or a word that nothing can be run by."""

    def __init__(self, reason: Reason) -> None:
        super().__init__(str(reason))
        self.why = reason


@dataclass(frozen=True, slots=True)
class Settings:
    """How one model is run; what a host is started with holds for all its models, and a model's
    own file may say otherwise.

    ``slots`` answers are written at once, each with room for ``context`` tokens (less where the
    model was trained for less); ``queue`` more may wait. ``threads`` None means one a core.
    A step aims at ``step_s`` seconds while somebody's answer is being written, and computes at
    most ``batch`` tokens. ``deadline_s`` is the longest an answer may take, the line included.

    ``cache_mib`` of memory keep the states of prompts that were read; ``cache_disk_mib`` more on
    disk, encrypted, and 0 is none. ``kv_type`` is how keys and values are stored, ``gpu_layers``
    how many layers a build with a GPU puts there (-1 is all). ``pinned`` models are never
    unloaded, others after ``idle_s`` without a request (0 is never).

    ``spin`` is how often an OpenMP thread looks for work before it sleeps. On 2 cores, 8 answers,
    tokens/s with the machine to itself / beside one busy process / beside two: libgomp's default
    348 / 48 / 14, 10,000 345 / 67 / 133, 1,000 285 / 132 / 153, one thread alone 214 / 170 / 144;
    so 10,000, and ``threads.py`` takes threads away while others need the processor.

    A worker that says nothing and computes nothing for ``hang_s`` is taken for hung.

    Niceness stays that of the house. Beside 8 answers, bursts of 4 ms as web processes have them
    took at the 99th percentile 13, 11 and 10 ms with a worker of 0, 5 and 10 (6.7 beside an idle
    one); but beside two busy processes 0 wrote 61 tokens/s and 5 wrote 21.
    """

    slots: int = 8
    context: int = 4096
    threads: int | None = None
    queue: int = 256
    batch: int = 512
    step_s: float = 0.15
    deadline_s: float = 900.0
    cache_mib: int = 512
    cache_disk_mib: int = 0
    kv_type: str = AUTO
    flash_attention: str = AUTO
    gpu_layers: int = -1
    pinned: bool = False
    idle_s: float = 1800.0
    spin: int = 10_000
    hang_s: float = 30.0

    def __post_init__(self) -> None:
        for name, value, least, most in (
            ("slots", self.slots, 1, MOST_SLOTS),
            ("context", self.context, 256, 1 << 20),
            ("threads", self.threads or 1, 1, 512),
            ("queue", self.queue, 1, 100_000),
            ("batch", self.batch, 32, 8192),
            ("step_s", self.step_s, 0.01, 10),
            ("deadline_s", self.deadline_s, 1, 86_400),
            ("cache_mib", self.cache_mib, 0, 1 << 22),
            ("cache_disk_mib", self.cache_disk_mib, 0, 1 << 24),
            ("gpu_layers", self.gpu_layers, -1, 1000),
            ("idle_s", self.idle_s, 0, 1 << 31),
            ("spin", self.spin, 0, 1 << 31),
            ("hang_s", self.hang_s, 6, 3600),
        ):
            if not least <= value <= most:
                reason = why("setting_range", key=name, least=least, most=most, value=str(value))
                raise BadSetting(reason)
        for name, choice, known in (
            ("kv_type", self.kv_type, (AUTO, *CACHE_TYPES)),
            ("flash_attention", self.flash_attention, tuple(FLASH_ATTENTION)),
        ):
            if choice not in known:
                raise BadSetting(
                    why("setting_choice", key=name, known=", ".join(known), value=choice[:60])
                )

    @property
    def thread_count(self) -> int:
        """Threads of one model's worker."""
        return self.threads or len(os.sched_getaffinity(0))

    @property
    def batch_tokens(self) -> int:
        """Tokens of the largest step: every slot's next token and a prompt's portion must fit."""
        return max(self.batch, 2 * self.slots)


@dataclass(frozen=True, slots=True)
class Defaults:
    """How tokens are drawn where a request leaves it open (llama.cpp's own choices, but cooler)."""

    temperature: float = 0.7
    top_k: int = 40
    top_p: float = 0.95
    min_p: float = 0.05
