"""Processes beside the engine: what they tell, and that none is left."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from tests.bench import neighbours


def test_each_burst_tells_how_long_it_took_from_when_it_was_due() -> None:
    with subprocess.Popen(
        neighbours.BURST, cwd=neighbours.ROOT, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        took = [float(process.stdout.readline()) for _ in range(3)]
        process.terminate()
    assert all(0 < each < 60 for each in took)
    assert process.returncode == 0


@pytest.mark.parametrize("beside", [neighbours.spinning, neighbours.bursting])
def test_none_is_left_after_the_block(
    beside: Callable[[int], AbstractContextManager[object]],
) -> None:
    before = children()
    with pytest.raises(ZeroDivisionError), beside(2):
        assert len(children() - before) == 2
        raise ZeroDivisionError
    assert children() == before


def children() -> set[str]:
    paths = Path("/proc/self/task").glob("*/children")
    return {pid for path in paths for pid in path.read_text().split()}
