"""How full the model's window is: what was read and written for the newest answer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from chat.domain.answers import Reading
from chat.models import LanguageModel

# Below that nobody needs to know; above the other the next questions may not fit.
WORTH_TELLING: Final = 0.5
NEARLY_FULL: Final = 0.85


@dataclass(frozen=True, slots=True)
class Fill:
    """``used`` of ``size`` tokens."""

    used: int
    size: int

    @property
    def percent(self) -> int:
        """At most 100."""
        return min(100, round(100 * self.used / self.size))

    @property
    def is_nearly_full(self) -> bool:
        """Whether it is time to do something about it."""
        return self.used >= NEARLY_FULL * self.size


def fill(readings: Sequence[Reading], of: LanguageModel | None = None) -> Fill | None:
    """As the last of ``readings`` that was answered leaves the window of the model that is to go
    on, or of the one that answered; where that is worth telling.

    Asks the database for nothing. ``None`` also where the engine tells no numbers.
    """
    for reading in reversed(readings):
        run, model = reading.generation, of or reading.message.language_model
        if run is None or model is None or not model.reads:
            continue
        size = model.reads
        used = (run.prompt_tokens or 0) + (run.completion_tokens or 0)
        if run.reason == "context_length_exceeded":
            used = run.facts.get("prompt_tokens") or size
        if used:
            return Fill(used, size) if used >= WORTH_TELLING * size else None
    return None
