"""How fast decoding can be at all: llama-batched-bench, and a bare loop in Python."""

from __future__ import annotations

import asyncio
import json
import signal
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from tests.bench.crowds import WORD_TOKENS, Decoding
from tests.bench.figures import Figures
from tests.bench.machine import ROOT
from tests.bench.servers import CannotMeasure, Setup, beside_library

TEMPLATE_TOKENS = 24  # of a short question in SmolLM2's template
STEADY = "steady tokens/s"


class Reference(Protocol):
    """Something that decodes what a case decodes, without a server."""

    @property
    def name(self) -> str: ...

    async def measure(self, case: Decoding) -> Figures: ...


@dataclass(frozen=True)
class BatchedBench:
    """``llama-batched-bench``: what it calls S_TG, for prompts as long as the case's."""

    program: Path
    setup: Setup
    name: str = "llama-batched-bench"

    async def measure(self, case: Decoding) -> Figures:
        """Raises ``CannotMeasure``."""
        prompt = case.depth or TEMPLATE_TOKENS + case.words
        room = case.sequences * (prompt + case.tokens + 32)
        threads = str(self.setup.threads)
        line = [
            *(str(self.program), "-m", str(self.setup.model), "-c", str(room)),
            *("-t", threads, "-tb", threads, "-npp", str(prompt), "-ntg", str(case.tokens)),
            *("-npl", str(case.sequences)),
        ]
        code, words = await _run(line, beside_library(self.program))
        speeds = speeds_of(words)
        if code or case.sequences not in speeds:
            raise CannotMeasure(f"llama-batched-bench ended with {code}: {words[-500:]}")
        return {STEADY: speeds[case.sequences]}


@dataclass
class BareLoop:
    """``bare_loop.py``. Where llama.cpp dies of its own weight layouts, it loads plain ones, as
    our host does."""

    setup: Setup
    plain: bool
    name: str = "bare loop"

    async def measure(self, case: Decoding) -> Figures:
        """Raises ``CannotMeasure``."""
        depth = int(case.depth * WORD_TOKENS) or TEMPLATE_TOKENS + case.words
        line = [
            *(sys.executable, "-m", "tests.bench.bare_loop", str(self.setup.model)),
            *("--sequences", str(case.sequences), "--depth", str(depth)),
            *("--tokens", str(case.tokens), "--threads", str(self.setup.threads)),
        ]
        plain = "--plain-weights"
        code, words = await _run([*line, plain] if self.plain else line, None)
        if code == -signal.SIGILL and not self.plain:
            self.plain = True
            code, words = await _run([*line, plain], None)
        if code:
            raise CannotMeasure(f"The bare loop ended with {code}: {words[-500:]}")
        return {STEADY: json.loads(words.strip().splitlines()[-1])["tokens_s"]}


def speeds_of(words: str) -> dict[int, float]:
    """Sequences → decoded tokens a second, from llama-batched-bench's table."""
    names: Sequence[str] = ()
    speeds: dict[int, float] = {}
    for line in words.splitlines():
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        if "S_TG t/s" in cells:
            names = cells
        elif names and len(cells) == len(names) and cells[0].isdecimal():
            row = dict(zip(names, cells, strict=True))
            speeds[int(row["B"])] = float(row["S_TG t/s"])
    return speeds


async def _run(line: list[str], environment: dict[str, str] | None) -> tuple[int, str]:
    """Exit code and output of a program; it is killed where nobody waits for it any more."""
    try:
        process = await asyncio.create_subprocess_exec(
            *line,
            cwd=ROOT,
            env=environment,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
        )
    except OSError as error:
        raise CannotMeasure(f"{line[0]} cannot be run: {error.strerror}.") from None
    try:
        output, _ = await process.communicate()
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    return process.returncode or 0, output.decode(errors="replace")
