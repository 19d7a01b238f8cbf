"""A model's file before it is served: what an engine finds that is asked to look into it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Final, Protocol, runtime_checkable

from engine_adapter import reasons
from engine_adapter.reasons import Reason
from engine_adapter.types import FileFacts, ModelKind, Outlook

INCOMING: Final = "incoming"  # the folder beside the models in which files arrive


@dataclass(frozen=True, slots=True)
class Inspected:
    """``why`` is why it cannot be served, and then the rest is not told. ``outlook`` is None where
    nothing can be said before it is loaded: of a LoRA adapter, or with a graphics card."""

    size_bytes: int
    why: Reason | None = None
    name: str | None = None
    quantization: str | None = None
    kind: ModelKind = "text"
    is_adapter: bool = False
    facts: FileFacts | None = None
    outlook: Outlook | None = None

    def as_json(self) -> dict[str, Any]:
        """The inverse of ``from_json``."""
        return {**asdict(self), "why": None if self.why is None else self.why.as_json()}


@runtime_checkable
class Inspector(Protocol):
    """What an engine offers besides when it can look at a file before it serves it."""

    async def inspect(self, file: str, name: str) -> Inspected:
        """What is in ``file`` of the folder in which files arrive, and whether it would fit if it
        were served as ``name``, a file's name too. Raises ``EngineError``."""
        ...


def from_json(told: Any) -> Inspected:
    """What another process tells. Raises ``ValueError`` where it is nothing of the kind."""
    try:
        return Inspected(
            **{
                **_told(told),
                "why": reasons.from_json(told["why"]),
                "facts": FileFacts(**_told(told["facts"])) if told["facts"] else None,
                "outlook": Outlook(**_told(told["outlook"])) if told["outlook"] else None,
            }
        )
    except (KeyError, TypeError) as error:
        raise ValueError("This is not what was found in a file.") from error


def _told(value: Any) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise TypeError
    return value
