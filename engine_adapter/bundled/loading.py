"""What a host tells the worker it starts. Knows no environment variables."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from engine_adapter.bundled.config import Settings
from engine_adapter.types import ModelKind


@dataclass(frozen=True, slots=True)
class Loading:
    """What one worker loads. ``repack`` allows llama.cpp's processor-specific weight layouts;
    ``adapter`` is a LoRA adapter's file to lay over the model."""

    path: Path
    settings: Settings
    repack: bool = True
    adapter: Path | None = None
    kind: ModelKind = "text"

    def as_json(self) -> dict[str, Any]:
        """For the worker's command line; the inverse of ``from_json``."""
        return {
            "path": str(self.path),
            "settings": asdict(self.settings),
            "repack": self.repack,
            "adapter": None if self.adapter is None else str(self.adapter),
            "kind": self.kind,
        }

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Loading:
        """Raises ``TypeError`` or ``ValueError`` where the data is not one's own."""
        return cls(
            Path(data["path"]),
            Settings(**data["settings"]),
            repack=data["repack"],
            adapter=None if data["adapter"] is None else Path(data["adapter"]),
            kind=data["kind"],
        )
