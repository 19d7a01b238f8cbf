"""States of prompts: found again, shared inside a domain only, and never more than memory holds."""

from __future__ import annotations

import struct
from collections import defaultdict

from hypothesis import given
from hypothesis import strategies as st

from engine_adapter.bundled.cache import WORTH, StateCache
from engine_adapter.bundled.sequence import Sequence
from engine_adapter.bundled.slots import Slots

BYTES = 8  # of a token in this memory


class PaperLanes:
    """Lanes that hold the tokens themselves, so that what was copied can be read."""

    def __init__(self, *, cuts: bool = True) -> None:
        self.cuts = cuts
        self.lanes: dict[int, list[int]] = defaultdict(list)
        self.loads = 0

    def keep(self, slot: int, count: int) -> None:
        assert self.cuts or count in {0, len(self.lanes[slot])}, "this memory cannot be cut"
        del self.lanes[slot][count:]

    def save(self, slot: int) -> memoryview:
        lane = self.lanes[slot]
        return memoryview(struct.pack(f"{len(lane)}q", *lane))

    def load(self, slot: int, state: memoryview) -> bool:
        assert not self.lanes[slot], "a state goes into an empty lane"
        self.lanes[slot] = list(struct.unpack(f"{len(state) // BYTES}q", state))
        self.loads += 1
        return True


class Attic(dict[int, memoryview]):
    """An overflow of two places."""

    _lost: list[int]

    def put(self, key: int, state: memoryview) -> bool:
        self[key] = state
        self._lost = [] if len(self) < 3 else [next(iter(self))]
        for gone in self._lost:
            del self[gone]
        return True

    def lost(self) -> list[int]:
        return self._lost

    def take(self, key: int) -> memoryview | None:
        return self.pop(key, None)

    def drop(self, key: int) -> None:
        self.pop(key, None)


class House:
    """Lanes, slots and a cache; ``run`` gives a sequence a lane and computes all it knows."""

    def __init__(
        self, *, slots: int = 2, limit: int = 1 << 20, cuts: bool = True, attic: Attic | None = None
    ) -> None:
        self.lanes = PaperLanes(cuts=cuts)
        self.slots = Slots(slots)
        self.cache = StateCache(self.lanes, self.slots, limit=limit, overflow=attic)
        self._ids = 0

    def sequence(self, known: list[int], domain: str = "a", public: int = 0) -> Sequence:
        self._ids += 1
        return Sequence(id=self._ids, known=list(known), room=99, domain=domain, public=public)

    def place(self, sequence: Sequence) -> int:
        """Give it a lane; return how much of it was known."""
        self.cache.place(sequence)
        assert sequence.slot is not None
        assert self.lanes.lanes[sequence.slot] == sequence.known[: sequence.computed]
        assert sequence.computed < len(sequence.known), "the last token gives the next"
        self.cache.check_integrity()
        return sequence.computed

    def compute(self, sequence: Sequence, upto: int | None = None) -> None:
        """Compute the tokens up to ``upto``, stopping at marks as the scheduler does."""
        upto = len(sequence.known) if upto is None else upto
        while sequence.computed < upto:
            stop = min([upto, *sequence.marks])
            assert sequence.slot is not None
            self.lanes.lanes[sequence.slot] += sequence.known[sequence.computed : stop]
            sequence.computed = stop
            self.cache.passed(sequence)
            self.cache.check_integrity()

    def leave(self, sequence: Sequence) -> None:
        self.cache.vacate(sequence)
        self.cache.check_integrity()

    def run(self, known: list[int], domain: str = "a", public: int = 0) -> int:
        """A whole life; returns how much was known at its beginning."""
        sequence = self.sequence(known, domain, public)
        length = self.place(sequence)
        self.compute(sequence)
        self.leave(sequence)
        return length


def text(start: int, length: int) -> list[int]:
    return list(range(start, start + length))


def test_the_next_turn_computes_only_what_is_new() -> None:
    house = House()
    first = text(0, 100)
    assert house.run(first) == 0
    assert house.run([*first, *text(500, 20)]) == 100
    assert house.run([*first, *text(500, 20), *text(600, 20)]) == 120
    assert house.lanes.loads == 0, "the lane itself was there still"


def test_while_there_is_time_most_lanes_are_emptied_into_memory() -> None:
    house = House(slots=4, limit=3 * 50 * BYTES)
    for at, domain in enumerate("abcd"):
        house.run(text(1000 * at, 50), domain)
    while house.cache.put_by():
        house.cache.check_integrity()
    assert house.cache.bytes == 3 * 50 * BYTES
    assert {lane for lane, tokens in house.lanes.lanes.items() if tokens} == {3}, "the newest"
    assert house.run([*text(0, 50), 7], "a") == 50
    assert house.run([*text(3000, 50), 7], "d") == 50


def test_nothing_is_forgotten_to_empty_a_lane() -> None:
    house = House(slots=2, limit=60 * BYTES)
    for at, domain in enumerate("ab"):
        house.run(text(1000 * at, 50), domain)
    assert house.cache.put_by()
    assert not house.cache.put_by()
    assert house.run([*text(0, 50), 7], "a") == 50
    assert house.run([*text(1000, 50), 7], "b") == 50


def test_a_state_moves_to_memory_when_its_lane_is_needed_and_comes_back() -> None:
    house = House(slots=1)
    house.run(text(0, 50), "a")
    house.run(text(1000, 50), "b")
    assert house.cache.bytes == 50 * BYTES
    assert house.run([*text(0, 50), 7], "a") == 50
    assert house.lanes.loads == 1


def test_another_branch_leaves_the_first_one_known() -> None:
    house = House(slots=1)
    stem, one, other = text(0, 60), text(100, 40), text(200, 40)
    house.run([*stem, *one])
    assert house.run([*stem, *other]) == 60
    assert house.run([*stem, *one, 1]) == 100


def test_no_domain_sees_what_another_left() -> None:
    house = House()
    house.run(text(0, 100), "a")
    assert house.run([*text(0, 100), 1], "b") == 0
    assert house.run([*text(0, 100), 1], "a") == 100


def test_public_tokens_are_shared_and_nothing_behind_them() -> None:
    house = House()
    rules = text(0, 80)
    house.run([*rules, *text(300, 30)], "a", public=80)
    assert house.run([*rules, *text(300, 30), 1], "b", public=80) == 80
    assert house.run([*rules, *text(300, 30), 1], "c", public=0) == 0


def test_a_short_state_is_not_kept() -> None:
    house = House()
    house.run(text(0, WORTH - 1))
    assert house.run([*text(0, WORTH - 1), 1]) == 0
    house.run(text(50, WORTH))
    assert house.run([*text(50, WORTH), 1]) == WORTH


def test_who_shares_what_is_being_read_waits_for_it_and_gets_a_copy() -> None:
    house = House(slots=3)
    rules = text(0, 100)
    first, second = (house.sequence([*rules, n, n, n]) for n in (900, 901))
    stranger = house.sequence([*rules, 902], "b")
    house.place(first)
    house.compute(first, 40)
    assert house.cache.must_wait(second, [first])
    assert not house.cache.must_wait(stranger, [first])
    house.compute(first, 100)
    assert not house.cache.must_wait(second, [first])
    assert house.place(second) == 100
    assert house.place(stranger) == 0


def test_strangers_wait_for_public_tokens_only() -> None:
    house = House(slots=3)
    rules = text(0, 100)
    one = house.sequence([*rules, *text(500, 50)], "a", public=100)
    other = house.sequence([*rules, *text(500, 60)], "b", public=100)
    house.place(one)
    assert house.cache.must_wait(other, [one])
    house.compute(one)
    assert not house.cache.must_wait(other, [one])
    assert house.place(other) == 100


def test_memory_that_cannot_be_cut_is_used_as_a_whole() -> None:
    house = House(slots=1, cuts=False)
    house.run(text(0, 60))
    assert house.run([*text(0, 60), *text(100, 10)]) == 60
    assert house.run([*text(0, 60), *text(200, 10)]) == 0


def test_the_longest_unused_goes_first_and_public_rules_stay() -> None:
    house = House(slots=1, limit=330 * BYTES)
    house.run([*text(0, 100), *text(900, 20)], "a", public=100)
    for number in range(5):
        house.run(text(1000 * number, 60), f"u{number}")
    assert house.run([*text(0, 100), 1], "z", public=100) == 100
    assert house.run([*text(0, 60), 1], "u0") == 0
    assert house.run([*text(4000, 60), 1], "u4") == 60


def test_what_memory_cannot_hold_goes_to_the_attic_and_comes_back() -> None:
    attic = Attic()
    house = House(slots=1, limit=100 * BYTES, attic=attic)
    for number in range(4):
        house.run(text(1000 * number, 60), f"u{number}")
    assert len(attic) == 2
    assert house.run([*text(0, 60), 1], "u0") == 60
    house.run(text(9000, 60), "u9")
    assert house.run([*text(1000, 60), 1], "u1") == 0, "it had to go"
    attic.clear()  # whatever lies there may vanish
    for number in range(4):
        house.run([*text(1000 * number, 60), 2], f"u{number}")


@given(st.data())
def test_the_books_balance_and_lanes_hold_what_they_should(data: st.DataObject) -> None:
    """``place`` itself compares the lane with the sequence's tokens."""
    house = House(
        slots=data.draw(st.integers(1, 3)),
        limit=data.draw(st.sampled_from([0, 60 * BYTES, 1000 * BYTES])),
        cuts=data.draw(st.booleans()),
        attic=Attic() if data.draw(st.booleans()) else None,
    )
    stems = [text(0, 40), [*text(0, 20), *text(70, 30)], text(200, 20)]
    running: list[Sequence] = []
    for _ in range(data.draw(st.integers(1, 25))):
        if running and data.draw(st.booleans()):
            leaving = running.pop(data.draw(st.integers(0, len(running) - 1)))
            how = data.draw(st.sampled_from(["vacate", "put_away", "abandon"]))
            getattr(house.cache, how)(leaving)
        elif house.slots.free:
            stem = data.draw(st.sampled_from(stems))
            ending = data.draw(st.lists(st.integers(500, 502), min_size=1, max_size=30))
            public = data.draw(st.sampled_from([0, len(stem)]))
            new = house.sequence([*stem, *ending], data.draw(st.sampled_from("ab")), public)
            if not house.cache.must_wait(new, running):
                house.place(new)
                running.append(new)
        elif data.draw(st.booleans()):
            house.cache.empty_lanes()
        for sequence in running:
            gap = len(sequence.known) - sequence.computed
            house.compute(sequence, sequence.computed + data.draw(st.integers(0, gap)))
        house.cache.check_integrity()
