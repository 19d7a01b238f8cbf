"""The operation log: what people sent, what was acknowledged, what they saw, which faults came.

Times are seconds of the machine's monotonic clock. Plain values; nothing here knows the house.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

Deed = Literal["ask", "regenerate", "stop", "retry"]


@dataclass
class Post:
    """One action of a person. ``id`` is that of the message it makes (``ask``, also where a
    question is asked otherwise, and ``regenerate``), else of the answer it is about.

    ``tries`` counts how often it was sent; ``acknowledged_at`` is when a 2xx was read, and
    ``stored_then`` what a look into the database said just then (``None``: it was away).
    """

    deed: Deed
    id: str
    at: float
    tag: str = ""
    letter: str = ""
    tries: int = 0
    acknowledged_at: float | None = None
    stored_then: bool | None = None
    refusals: list[str] = field(default_factory=list)


@dataclass
class Sight:
    """What one page showed of one answer. ``grew`` holds (when, letters); ``text`` is the longest,
    ``told`` how many letters there were when the socket last spoke of it.

    ``torn`` is the first text that did not go on from the one before: (when, before, after).
    """

    answer: str
    grew: list[tuple[float, int]] = field(default_factory=list)
    text: str = ""
    told: int = 0
    torn: tuple[float, str, str] | None = None
    state: str = ""
    ended_at: float | None = None

    def show(self, at: float, text: str, least: int) -> None:
        """The page shows ``text``. What comes by one way may be older than what came by the other:
        no tear where ``least`` letters of the longest are left."""
        if len(text) > len(self.text) and text.startswith(self.text):
            self.grew.append((at, len(text)))
            self.text = text
        elif not (self.text.startswith(text) and len(text) >= least):
            self.torn = self.torn or (at, self.text, text)

    def shown_at(self, at: float) -> int:
        """Letters of the longest text that was shown until ``at``."""
        return max((letters for when, letters in self.grew if when <= at), default=0)


@dataclass
class Away:
    """A page without its socket, from ``lost_at`` to ``back_at``."""

    lost_at: float
    back_at: float | None = None


@dataclass
class Look:
    """A stranger's attempt. ``opened`` is whether anything of it was shown."""

    at: float
    who: str
    what: str
    opened: bool


@dataclass
class Fault:
    """What was done to the house. ``healed_at`` is when a frozen process was let go on.

    ``generated`` and ``stored``: letters by tag, of every answer running at that moment.
    """

    kind: str
    began_at: float
    healed_at: float = 0.0
    over_at: float = 0.0
    well_after_s: float | None = None
    generated: dict[str, int] = field(default_factory=dict)
    stored: dict[str, int] = field(default_factory=dict)


@dataclass
class Log:
    """Everything one lap did and saw. ``stuck`` names what never came to an end."""

    seed: int
    posts: list[Post] = field(default_factory=list)
    sights: list[Sight] = field(default_factory=list)
    absences: list[Away] = field(default_factory=list)
    looks: list[Look] = field(default_factory=list)
    faults: list[Fault] = field(default_factory=list)
    stuck: list[str] = field(default_factory=list)
    signed_out: list[str] = field(default_factory=list)


def spoken(written: str, began_at: Mapping[str, float], until: float) -> dict[str, int]:
    """Letters the engine had said by ``until``, by tag, of the answers that began at ``began_at``.

    ``written`` is what it wrote down: a line for each piece. A question may be answered once more;
    what was said for its earlier answer is not said for this one, which may still wait for its
    turn at the engine. An answer that nothing was said of is left out.
    """
    said: dict[str, int] = {}
    for line in written.splitlines():
        at, tag, letters = line.split()
        if tag in began_at and began_at[tag] <= float(at) <= until:
            said[tag] = int(letters)
    return said
