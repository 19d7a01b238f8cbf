"""How much memory there is: the machine's, or the tightest control group's."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from engine_adapter.bundled.memory import Memory, anonymous, measure

KIB = 1024


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A machine with 8,000 KiB, of which 5,000 are free, and no control groups."""
    write(tmp_path / "proc/meminfo", "MemTotal: 8000 kB\nMemAvailable: 5000 kB\nHugePages: 0\n")
    return tmp_path


def write(path: Path, content: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content)


def group(folder: Path, limit: str, used: int, files: int, *, version: int = 2) -> None:
    names = ("memory.max", "memory.current", "active_file")
    if version == 1:
        names = ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_active_file")
    write(folder / names[0], f"{limit}\n")
    write(folder / names[1], f"{used * KIB}\n")
    write(folder / "memory.stat", f"anon 7\n{names[2]} {files * KIB}\n")


def test_without_groups_it_is_the_machine(root: Path) -> None:
    assert measure(root) == Memory(8000 * KIB, 5000 * KIB)


def test_version_2_counts_every_group_above_us(root: Path) -> None:
    write(root / "proc/self/cgroup", "0::/slice/unit\n")
    group(root / "sys/fs/cgroup/slice/unit", "max", 100, 0)
    group(root / "sys/fs/cgroup/slice", str(3000 * KIB), 2500, 400)
    assert measure(root) == Memory(3000 * KIB, 900 * KIB)


def test_version_1_in_a_container_whose_path_is_the_hosts(root: Path) -> None:
    write(root / "proc/self/cgroup", "9:cpu:/\n4:memory:/docker/abc\n0::/\n")
    group(root / "sys/fs/cgroup/memory", str(2000 * KIB), 500, 100, version=1)
    assert measure(root) == Memory(2000 * KIB, 1600 * KIB)


def test_a_group_without_a_limit_limits_nothing(root: Path) -> None:
    write(root / "proc/self/cgroup", "4:memory:/\n")
    group(root / "sys/fs/cgroup/memory", str((1 << 63) - 4096), 500, 0, version=1)
    assert measure(root) == Memory(8000 * KIB, 5000 * KIB)


def test_this_machine_and_this_process_are_read() -> None:
    now = measure()
    assert 0 < now.free <= now.total
    assert anonymous(os.getpid()) > 1_000_000
    assert anonymous(1 << 30) == 0
