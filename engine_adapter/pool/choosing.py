"""Which engine of a pool is asked next. Pure: what is known goes in, a tag comes out.

The engine that wrote the conversation before has its prompt in its cache: it is asked again, unless
it is clearly busier than another. Everybody else goes where the fewest are.
"""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import sha256
from typing import Final

from engine_adapter.pool.known import Known, Load, Readiness

# What a cached prompt is worth: twice as many people around, and these more (requests, or slots'
# share). Beyond that the words come faster elsewhere, although the prompt is read anew.
WORTH_REQUESTS: Final = 4.0
WORTH_SHARE: Final = 0.5

_ORDER: Final[tuple[Readiness, ...]] = ("ready", "doubtful", "resting")


def choose(known: Mapping[str, Known], *, last: str | None, talk: str, now: float) -> str | None:
    """The tag of the engine to ask; ``None`` where all that are left want to be let alone.

    ``last`` is where the conversation ``talk`` was answered before. Engines that rest are asked
    only where there is nobody else, the one first whose pause ends first.
    """
    for readiness in _ORDER:
        able = {tag: each for tag, each in known.items() if each.readiness(now) == readiness}
        if able and readiness == "resting":
            return min(able, key=lambda tag: able[tag].rests_until)
        if able:
            return _least_loaded({tag: able[tag].load(now) for tag in able}, last, talk)
    return None


def _least_loaded(loads: Mapping[str, Load], last: str | None, talk: str) -> str:
    """Slots are what makes big and small engines comparable: they count where all tell them."""
    comparable = all(load.slots is not None for load in loads.values())
    shares = {
        tag: load.busy / load.slots if comparable and load.slots else float(load.busy)
        for tag, load in loads.items()
    }
    least = min(loads, key=lambda tag: (loads[tag].is_full, shares[tag], _chance(talk, tag)))
    if last is None or last not in loads:
        return least
    if loads[last].is_full and not loads[least].is_full:
        return least
    worth = WORTH_SHARE if comparable else WORTH_REQUESTS
    return least if shares[last] > 2 * shares[least] + worth else last


def _chance(talk: str, tag: str) -> bytes:
    """Breaks ties, in every process alike (rendezvous hashing): also one that never saw the
    conversation before asks where it was answered, as long as nobody is busier."""
    return sha256(f"{talk} {tag}".encode()).digest()
