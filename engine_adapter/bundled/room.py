"""Whether one more model fits beside those that are loaded, and which of them could go.

Works on numbers: starts and ends nothing.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Iterable, Sequence
from pathlib import Path

from engine_adapter.bundled import memory
from engine_adapter.bundled.catalogue import ModelFile
from engine_adapter.bundled.resident import Resident
from engine_adapter.errors import EngineError, Overloaded, Refused
from engine_adapter.reasons import Fact, Reason
from engine_adapter.types import Outlook

RETRY_S = 10.0
GPU_LIBRARIES = ("libggml-cuda*", "libggml-hip*", "libggml-vulkan*", "libggml-sycl*")


class Room:
    """``most`` bytes for all models together; None is what the machine gives."""

    def __init__(self, most: int | None = None) -> None:
        self._most = most

    def needed(self, file: ModelFile, beside: Sequence[Resident]) -> int:
        """Bytes that a model will take; the weights a loaded one has mapped are there already."""
        need = file.need
        mapped = _mapped([other for other in beside if other.runs])
        return need.private + max(0, need.weights - mapped.get(file.loading.path, 0))

    def free(self, beside: Sequence[Resident]) -> int:
        """Bytes for one more model.

        What a loaded one has not yet taken of its need is taken from what the kernel calls free;
        so are mapped weights, which the kernel would give away.
        """
        mapped = sum(_mapped(beside).values())
        held = [(other.need, _held(other)) for other in beside]
        free = memory.measure().free - mapped
        free -= sum(max(0, need.private - holds) for need, holds in held)
        if self._most is not None:
            copied = sum(min(need.weights, max(0, holds - need.private)) for need, holds in held)
            taken = mapped + copied + sum(need.private for need, _ in held)
            free = min(free, self._most - taken)
        return max(0, free)

    def leaver(self, file: ModelFile, beside: Sequence[Resident]) -> Resident | None:
        """Who is to be unloaded for ``file``: None where it fits. Raises ``Refused`` where it
        never will, ``Overloaded`` where it may when others are no longer in use."""
        if _chooses_itself(file):
            return None
        free = self.free(beside)
        outlook = self._outlook(file, beside, free)
        if outlook.verdict == "fits":
            return None
        if outlook.verdict == "makes_room":
            return min(_idle(beside), key=lambda other: other.used_at)
        raise self._refusal(file, free, later=outlook.verdict == "waits")

    def outlooks(
        self, files: Iterable[ModelFile], beside: Sequence[Resident]
    ) -> dict[str, Outlook]:
        """By model, what would come of loading it now, and what each takes that is there; nothing
        where nobody here can say."""
        free = self.free(beside)
        here = {other.file.name: Outlook(other.need.total, free, "fits") for other in beside}
        away = [file for file in files if file.name not in here and file.header is not None]
        told = {
            file.name: self._outlook(file, beside, free)
            for file in away
            if not _chooses_itself(file)
        }
        return here | told

    def _outlook(self, file: ModelFile, beside: Sequence[Resident], free: int) -> Outlook:
        need = self.needed(file, beside)
        if need <= free:
            return Outlook(need, free, "fits")
        if need <= free + sum(other.need.total for other in _idle(beside)):
            return Outlook(need, free, "makes_room")
        if need <= free + sum(other.need.total for other in _loose(beside)):
            return Outlook(need, free, "waits")
        return Outlook(need, free, "never")

    def _refusal(self, file: ModelFile, free: int, *, later: bool) -> EngineError:
        told: dict[str, Fact] = {"model": file.name, "free_bytes": free, **file.need.facts}
        if later:
            return Overloaded(Reason("no_room_now", told), retry_after=RETRY_S)
        total = memory.measure().total if self._most is None else self._most
        notes = f"{file.weights.path.stem}.toml"
        return Refused(Reason("no_room_ever", {**told, "total_bytes": total, "notes": notes}))


def _loose(beside: Sequence[Resident]) -> list[Resident]:
    return [other for other in beside if not other.file.settings.pinned]


def _idle(beside: Sequence[Resident]) -> list[Resident]:
    return [other for other in _loose(beside) if not other.uses]


def _chooses_itself(file: ModelFile) -> bool:
    """What goes to a card is llama.cpp's choice, and it says when that is full."""
    return file.settings.gpu_layers != 0 and _offloads()


def _held(resident: Resident) -> int:
    return memory.anonymous(resident.pid) if resident.pid else 0


def _mapped(residents: Sequence[Resident]) -> dict[Path, int]:
    """By file, the bytes of weights that lie in shared pages (llama.cpp copies some layouts)."""
    found: dict[Path, int] = {}
    for resident in residents:
        own = max(0, _held(resident) - resident.need.private)
        path = resident.file.loading.path
        found[path] = max(found.get(path, 0), resident.need.weights - own)
    return found


def _offloads() -> bool:
    """Whether llama-cpp-python was built with a GPU's library. Found without loading it."""
    spec = importlib.util.find_spec("llama_cpp")
    folders = [] if spec is None else spec.submodule_search_locations or []
    return any(
        any((Path(folder) / "lib").glob(pattern)) for folder in folders for pattern in GPU_LIBRARIES
    )
