"""A state of a prompt, and the places where states can lie. Knows neither trees nor slots."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from engine_adapter.bundled.prefixes import Node

Domain = str | None  # inside which states are shared; None is the public one


class Memory(Protocol):
    """Where states are copied from and to: the lanes of a context."""

    cuts: bool
    """Whether a lane can forget its end. If not, a state is of use only as a whole."""

    def keep(self, slot: int, count: int) -> None:
        """Forget everything in the lane past its first ``count`` tokens."""
        ...

    def save(self, slot: int) -> memoryview:
        """A copy of the lane's state."""
        ...

    def load(self, slot: int, state: memoryview) -> bool:
        """Put a state into an empty lane. False where it does not go in."""
        ...


class Overflow(Protocol):
    """Where states go that memory has no place for."""

    def put(self, key: int, state: memoryview) -> bool:
        """Keep it. False where that cannot be."""
        ...

    def take(self, key: int) -> memoryview | None:
        """Give it back, once; None where it is gone."""
        ...

    def drop(self, key: int) -> None:
        """Forget it."""
        ...

    def lost(self) -> list[int]:
        """What had to go since this was last asked."""
        ...


@dataclass(slots=True, eq=False)
class State:
    """``length`` tokens of ``domain``: in ``lane``, or as ``data``, or else in the overflow."""

    domain: Domain
    length: int
    lane: int | None = None
    data: memoryview | None = None
    node: Node[State] | None = None

    @property
    def size(self) -> int:
        """Bytes of memory it takes."""
        return 0 if self.data is None else self.data.nbytes
