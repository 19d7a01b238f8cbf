"""How much memory this machine, or the container we are in, has and can still give."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

ROOT = Path("/")


class Version(NamedTuple):
    """Where a version of control groups tells of memory; ``reclaimable`` stands in memory.stat."""

    controller: str
    mount: str
    limit: str
    usage: str
    reclaimable: tuple[str, ...]


VERSIONS = (
    Version("", "sys/fs/cgroup", "memory.max", "memory.current", ("inactive_file", "active_file")),
    Version(
        "memory",
        "sys/fs/cgroup/memory",
        "memory.limit_in_bytes",
        "memory.usage_in_bytes",
        ("total_inactive_file", "total_active_file"),
    ),
)


@dataclass(frozen=True, slots=True)
class Memory:
    """Bytes. ``free`` counts what the kernel would give back for the asking: cached files, and so
    also the mapped weights of models that are loaded."""

    total: int
    free: int


def measure(root: Path = ROOT) -> Memory:
    """The machine's memory, or that of the tightest control group we are in (versions 1 and 2)."""
    told = _table(root / "proc/meminfo")
    total, free = told.get("MemTotal:", 0) * 1024, told.get("MemAvailable:", 0) * 1024
    for limit, left in _groups(root):
        total, free = min(total, limit), min(free, left)
    return Memory(total, free)


def anonymous(pid: int, root: Path = ROOT) -> int:
    """Bytes that a process holds for itself alone; 0 where it is gone."""
    try:
        told = _table(root / f"proc/{pid}/status")
    except (OSError, ValueError):
        return 0
    return told.get("RssAnon:", 0) * 1024


def _groups(root: Path) -> list[tuple[int, int]]:
    """Limit and what is left of it, for each group above us that has one."""
    found = []
    with contextlib.suppress(OSError):
        for line in (root / "proc/self/cgroup").read_text().splitlines():
            _, controllers, path = line.split(":", 2)
            for version in VERSIONS:
                if version.controller not in controllers.split(","):
                    continue
                top = root / version.mount
                # In a container the path may be the host's, and our group is what is mounted.
                inner = top / path.lstrip("/")
                folders = [inner, *inner.parents]
                for folder in folders[: folders.index(top) + 1]:
                    if (group := _group(folder, version)) is not None:
                        found.append(group)
    return found


def _group(folder: Path, version: Version) -> tuple[int, int] | None:
    try:
        most = int((folder / version.limit).read_text())
        used = int((folder / version.usage).read_text())
        told = _table(folder / "memory.stat")
    except (OSError, ValueError):
        return None  # no such group here, or "max": no limit
    return most, max(0, most - used + sum(told.get(name, 0) for name in version.reclaimable))


def _table(path: Path) -> dict[str, int]:
    """Lines of a name and a number, with or without a unit."""
    rows = (line.split() for line in path.read_text().splitlines())
    return {row[0]: int(row[1]) for row in rows if len(row) > 1 and row[1].isdecimal()}
