"""The loop over a device made of paper: who is told what, and what happens when computing fails."""

from __future__ import annotations

import struct
from collections import defaultdict
from collections.abc import Callable
from collections.abc import Sequence as Many
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine_adapter.bundled.cache import StateCache
from engine_adapter.bundled.loop import DecodeLoop
from engine_adapter.bundled.pace import Pace
from engine_adapter.bundled.portion import Portion
from engine_adapter.bundled.scheduler import Scheduler
from engine_adapter.bundled.sequence import Drawn, Sequence
from engine_adapter.bundled.telling import Told
from engine_adapter.bundled.threads import Threads
from engine_adapter.bundled.transcript import Transcript
from engine_adapter.errors import Broken, Overloaded
from engine_adapter.types import Event, Failed, Finished, Progress, Text, Usage

END = 0
NO_ROOM, FATAL = 1, -3


class Paper:
    """Stands for llama.cpp: writes 'a', 'b', 'c' … by position and checks every rule that a real
    context enforces by ending the process."""

    context = 100
    cuts = True

    def __init__(self, fails: Callable[[Many[Portion]], int] = lambda _: 0) -> None:
        self.lanes: dict[int, list[int]] = defaultdict(list)
        self.fails = fails
        self.ready: set[int] = set()
        self.released: list[int] = []
        self.sizes: list[int] = []

    def decode(self, portions: Many[Portion]) -> int:
        self.ready.clear()
        self.sizes.append(sum(portion.count for portion in portions))
        result = self.fails(portions)
        if result == NO_ROOM:
            return result
        for portion in portions:
            slot, known = portion.sequence.slot, portion.sequence.known
            assert slot is not None
            assert len(self.lanes[slot]) == portion.start, "positions must follow each other"
            assert len(known) >= portion.start + portion.count
            self.lanes[slot] += known[portion.start : portion.start + portion.count]
            if portion.closes:
                self.ready.add(slot)
        if result:
            self.ready.clear()
        return result

    def draw(self, sequence: Sequence) -> Drawn:
        assert sequence.slot in self.ready, "there are no logits"
        return Drawn(97 + sequence.written % 26)

    def ends(self, token: int) -> bool:
        return token == END

    def piece(self, token: int) -> bytes:
        return bytes([token])

    def keep(self, slot: int, count: int) -> None:
        del self.lanes[slot][count:]

    def save(self, slot: int) -> memoryview:
        lane = self.lanes[slot]
        return memoryview(struct.pack(f"{len(lane)}i", *lane))

    def load(self, slot: int, state: memoryview) -> bool:
        assert not self.lanes[slot]
        self.lanes[slot] = list(struct.unpack(f"{len(state) // 4}i", state))
        return True

    def use_threads(self, count: int) -> None:
        self.threads = count

    def release(self, sequence: Sequence) -> None:
        self.released.append(sequence.id)


class Desk:
    """A loop, its device, and everything that was told."""

    def __init__(self, device: Paper, *, slots: int = 2, queue: int = 8) -> None:
        self.device = device
        self.scheduler = Scheduler(slots=slots, queue=queue)
        self.told: dict[int, list[Event]] = defaultdict(list)
        self.cache = StateCache(device, self.scheduler.slots, limit=1 << 20)
        self.loop = DecodeLoop(
            device, self.scheduler, self.cache, Pace(target_s=9, most=32), Threads(1), self.tell
        )

    def tell(self, told: list[Told]) -> None:
        for id_, event in told:
            self.told[id_].append(event)

    def submit(self, *prompts: int, room: int = 3, stop: tuple[str, ...] = (), **more: Any) -> None:
        """One request a prompt length; each is another user's and another domain's."""
        for id_, prompt in enumerate(prompts, len(self.told)):
            self.told[id_] = []
            fields: dict[str, Any] = {"user": f"u{id_}", "domain": f"d{id_}", **more}
            transcript = Transcript(stop=stop)
            sequence = Sequence(
                id=id_, known=[1] * prompt, room=room, transcript=transcript, **fields
            )
            try:
                self.loop.submit(sequence)
            except Overloaded as full:
                self.told[id_].append(Failed(full))

    def run(self, steps: int = 200) -> None:
        for _ in range(steps):
            self.loop.step()
        self.scheduler.check_integrity()
        self.cache.check_integrity()

    def text(self, id_: int) -> str:
        return "".join(event.text for event in self.told[id_] if isinstance(event, Text))

    def last(self, id_: int) -> Event | None:
        return self.told[id_][-1] if self.told[id_] else None


def test_sequences_are_computed_together_and_told_in_order() -> None:
    desk = Desk(Paper())
    desk.submit(5, 7)
    desk.run(1)
    assert desk.device.sizes == [12]
    desk.run()
    for id_, prompt in ((0, 5), (1, 7)):
        assert desk.text(id_) == "abc"
        assert desk.last(id_) == Finished("length", Usage(prompt, 3))
    assert sorted(desk.device.released) == [0, 1]
    assert desk.scheduler.slots.free == 2


def test_a_stop_string_ends_the_answer() -> None:
    desk = Desk(Paper())
    desk.submit(5, room=20, stop=("de",))
    desk.run()
    assert desk.text(0) == "abc"
    assert desk.last(0) == Finished("stop", Usage(5, 5))


def test_an_end_token_ends_the_answer() -> None:
    device = Paper()
    device.ends = lambda token: token == ord("c")  # type: ignore[method-assign]  # this model ends at a c
    desk = Desk(device)
    desk.submit(5, room=20)
    desk.run()
    assert (desk.text(0), desk.last(0)) == ("ab", Finished("stop", Usage(5, 2)))


def test_those_who_wait_are_told_their_place_and_readers_how_far_they_are() -> None:
    desk = Desk(Paper(), slots=1)
    desk.submit(80, 4, 4)
    desk.run(1)
    assert desk.told[1] == [Progress(1, 0, 4)]
    assert desk.told[2] == [Progress(2, 0, 4)]
    assert desk.told[0] == [Progress(0, 32, 80)]
    desk.run()
    assert Progress(1, 0, 4) in desk.told[2]
    assert [type(desk.last(id_)) for id_ in range(3)] == [Finished] * 3


def test_cancelling_frees_the_slot_in_one_step() -> None:
    desk = Desk(Paper(), slots=1)
    desk.submit(4, 4, room=50)
    desk.run(2)
    desk.loop.cancel(0)
    desk.loop.cancel(99)
    desk.run(1)
    assert isinstance(desk.last(0), Finished)
    assert desk.scheduler.running[0].id == 1
    desk.loop.cancel(1)
    desk.run(1)
    assert desk.scheduler.slots.free == 1


def test_a_full_line_says_when_to_come_again() -> None:
    desk = Desk(Paper(), slots=1, queue=1)
    desk.submit(4, 4, 4)
    failed = desk.last(2)
    assert isinstance(failed, Failed)
    assert isinstance(failed.error, Overloaded)
    assert failed.error.retry_after == 1.0
    desk.run()
    assert [desk.text(id_) for id_ in range(3)] == ["abc", "abc", ""]


def test_without_room_for_all_one_is_set_back_and_all_finish() -> None:
    def small(portions: Many[Portion]) -> int:
        cells = sum(portion.start + portion.count for portion in portions)
        return NO_ROOM if cells > 24 else 0

    desk = Desk(Paper(small))
    desk.submit(8, 8, room=12)
    desk.run()
    for id_ in range(2):
        assert desk.text(id_) == "abcdefghijkl"
        assert desk.last(id_) == Finished("length", Usage(8, 12))


def test_one_that_does_not_fit_alone_ends_with_length() -> None:
    desk = Desk(Paper(lambda p: NO_ROOM if p[0].start > 10 else 0))
    desk.submit(8, room=50)
    desk.run()
    assert desk.text(0) == "abcd"
    assert desk.last(0) == Finished("length", Usage(8, 4))


def test_a_failing_step_fails_only_who_fails_alone() -> None:
    def poisoned(portions: Many[Portion]) -> int:
        return FATAL if any(portion.sequence.id == 1 for portion in portions) else 0

    desk = Desk(Paper(poisoned), slots=3)
    desk.submit(5, 5, 5)
    desk.run()
    failed = desk.last(1)
    assert isinstance(failed, Failed)
    assert isinstance(failed.error, Broken)
    assert [desk.text(id_) for id_ in (0, 2)] == ["abc", "abc"]


def test_a_dead_device_fails_everybody_and_ends_the_loop() -> None:
    desk = Desk(Paper(lambda _: FATAL), slots=1)
    desk.submit(5, 5)
    with pytest.raises(Broken):
        desk.loop.run()
    assert all(isinstance(desk.last(id_), Failed) for id_ in range(2))


@given(st.data())
def test_everybody_gets_one_last_word_whatever_happens(data: st.DataObject) -> None:
    def fate(portions: Many[Portion]) -> int:
        if len(portions) == 1:
            return 0
        return data.draw(st.sampled_from([0, 0, 0, NO_ROOM, FATAL]))

    device = Paper(fate)
    desk = Desk(device, slots=data.draw(st.integers(1, 3)), queue=3)
    for _ in range(data.draw(st.integers(1, 15))):
        if data.draw(st.booleans()):
            desk.submit(data.draw(st.integers(1, 50)), room=data.draw(st.integers(1, 5)))
        if desk.told and data.draw(st.integers(0, 3)) == 0:
            desk.loop.cancel(data.draw(st.sampled_from(sorted(desk.told))))
        desk.run(1)
    device.fails = lambda _: 0
    desk.run(200)
    for id_, events in desk.told.items():
        assert sum(isinstance(event, Finished | Failed) for event in events) == 1
        assert isinstance(events[-1], Finished | Failed)
        assert "abcde".startswith(desk.text(id_))
    assert max(device.sizes, default=0) <= 32
    assert desk.scheduler.slots.free == desk.scheduler.slots.total
    assert sum(map(len, device.lanes.values())) == sum(
        state.length for state in desk.cache._lanes.values()
    )
