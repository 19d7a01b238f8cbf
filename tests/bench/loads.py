"""All loads by name: the rows of the table of loads."""

from __future__ import annotations

from tests.bench.crowds import Busy, Decode, Deep, Shared, Short
from tests.bench.load import Load
from tests.bench.meetings import Cancel, Flood, Intruder, Long, Turns
from tests.bench.pages import Pages

LOADS: dict[str, Load] = {
    load.name: load
    for load in (
        Decode(), Short(), Shared(), Intruder(), Turns(), Busy(), Pages(), Deep(), Long(),
        Flood(), Cancel(),
    )
}  # fmt: skip
