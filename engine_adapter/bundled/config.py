"""The numbers the bundled engine runs by. Knows no environment variables and no files."""

from __future__ import annotations

import os
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

MOST_SLOTS = 256  # llama.cpp's LLAMA_MAX_SEQ


@dataclass(frozen=True, slots=True)
class Settings:
    """What holds for every model of one engine host.

    ``slots`` answers are written at once, each with room for ``context`` tokens (less where the
    model was trained for less); ``queue`` more may wait. ``threads`` None means one a core.
    A step aims at ``step_s`` seconds while somebody's answer is being written, and computes at
    most ``batch`` tokens.

    ``spin`` is how often an idle OpenMP thread looks before it sleeps. libgomp's own default
    collapses beside a busy process: on 2 cores with one busy neighbour, 8 answers fell from 220 to
    65 tokens/s, with 1,000 spins from 198 to 107.
    """

    slots: int = 8
    context: int = 4096
    threads: int | None = None
    queue: int = 256
    batch: int = 512
    step_s: float = 0.15
    spin: int = 1000

    def __post_init__(self) -> None:
        for name, value, least, most in (
            ("slots", self.slots, 1, MOST_SLOTS),
            ("context", self.context, 256, 1 << 20),
            ("threads", self.threads or 1, 1, 512),
            ("queue", self.queue, 1, 100_000),
        ):
            if not least <= value <= most:
                raise ValueError(f"{name} must lie between {least} and {most}, not {value}")

    @property
    def thread_count(self) -> int:
        """Threads of one model's worker."""
        return self.threads or len(os.sched_getaffinity(0))

    @property
    def batch_tokens(self) -> int:
        """Tokens of the largest step: every slot's next token and a prompt's portion must fit."""
        return max(self.batch, 2 * self.slots)


@dataclass(frozen=True, slots=True)
class Loading:
    """What one worker loads. ``repack`` allows llama.cpp's processor-specific weight layouts."""

    path: Path
    settings: Settings
    repack: bool = True

    def as_json(self) -> dict[str, Any]:
        """For the worker's command line; the inverse of ``from_json``."""
        return {
            "path": str(self.path),
            "settings": asdict(self.settings),
            "repack": self.repack,
        }

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Loading:
        """Raises ``TypeError`` or ``ValueError`` where the data is not one's own."""
        return cls(Path(data["path"]), Settings(**data["settings"]), data["repack"])


@dataclass(frozen=True, slots=True)
class Defaults:
    """How tokens are drawn where a request leaves it open (llama.cpp's own choices, but cooler)."""

    temperature: float = 0.7
    top_k: int = 40
    top_p: float = 0.95
    min_p: float = 0.05
