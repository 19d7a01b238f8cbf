"""A damaged or foreign state is no reason for nonsense: it is refused."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine_adapter.bundled.llama.transfer import BF16, F16, Unknown, converted


def state(numbers: np.ndarray, *, lane: int = 1, lanes: int = 3, kind: int = F16) -> memoryview:
    """Of ``lane``: two layers, as many cells as ``numbers`` has rows."""
    cells = len(numbers)
    own = np.array([[at, 1, lane] for at in range(cells)], "<i4").tobytes()
    row = numbers.astype(np.float16).tobytes()
    head = np.array([kind], "<i4").tobytes() + np.array([numbers.shape[1] * 2], "<u8").tobytes()
    counts = np.zeros(lanes, "<u4")
    before, after = counts[:lane].tobytes(), counts[lane + 1 :].tobytes()
    body = np.array([cells], "<u4").tobytes() + own + np.array([0, 2], "<u4").tobytes()
    start = b"magiclan" + np.array([lanes], "<u4").tobytes()
    return memoryview(start + before + body + 4 * (head + row) + after)


NUMBERS = np.arange(12, dtype=np.float32).reshape(3, 4) / 4


def test_there_and_back_gives_the_same() -> None:
    there = converted(state(NUMBERS), lanes=7, to=BF16)
    back = converted(there, lanes=3, to=F16)
    assert bytes(back) == bytes(state(NUMBERS, lane=0)).replace(*_own_lanes(0, 1))
    assert bytes(there) != bytes(converted(state(NUMBERS), lanes=7, to=F16))


def _own_lanes(lane: int, other: int) -> tuple[bytes, bytes]:
    """A state says of each cell whose it was; that stays as it is and means nothing."""
    tables = [
        np.array([[at, 1, name] for at in range(len(NUMBERS))], "<i4").tobytes()
        for name in (lane, other)
    ]
    return tables[0], tables[1]


@given(st.data())
def test_what_is_cut_short_or_longer_is_refused(data: st.DataObject) -> None:
    whole = bytes(state(NUMBERS, lane=2))
    cut = data.draw(st.integers(0, len(whole) - 1))
    with pytest.raises(Unknown):
        converted(memoryview(whole[:cut]), lanes=3, to=BF16)
    with pytest.raises(Unknown):
        converted(memoryview(whole + b"\\x01\\x02"), lanes=3, to=BF16)


def test_other_kinds_are_refused() -> None:
    with pytest.raises(Unknown):
        converted(state(NUMBERS, kind=8), lanes=3, to=BF16)
    with pytest.raises(Unknown):
        converted(memoryview(b"magiclan" + bytes(16)), lanes=3, to=BF16)
