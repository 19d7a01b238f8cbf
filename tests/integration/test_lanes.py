"""The real context: states that are copied and cut give what a fresh computation gives."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from engine_adapter.bundled.config import Settings
from engine_adapter.bundled.llama.lanes import Lanes
from engine_adapter.bundled.llama.model import Model
from engine_adapter.bundled.loading import Loading
from engine_adapter.bundled.portion import Portion
from engine_adapter.bundled.sequence import Sequence
from engine_adapter.types import Sampling

PROMPT = "The history of the city begins with a small harbour at the mouth of the river. " * 4


@pytest.fixture(scope="module")
def model(starter_model: Path) -> Model:
    # Plain weights: some machines announce instructions that they do not have.
    return Model(Loading(starter_model, Settings(), repack=False))


@pytest.fixture(params=["f16", "q8_0", "auto"])
def lanes(model: Model, request: pytest.FixtureRequest) -> Iterator[Lanes]:
    settings = Settings(slots=3, context=512, batch=256, kv_type=request.param)
    lanes = Lanes(model, settings)
    yield lanes
    lanes.close()


class Run:
    """One sequence in one lane, drawn greedily."""

    def __init__(self, lanes: Lanes, id_: int, slot: int, known: list[int], computed: int) -> None:
        self.lanes = lanes
        self.sequence = Sequence(
            id=id_, known=list(known), room=99, sampling=Sampling(temperature=0)
        )
        self.sequence.slot = slot
        self.sequence.computed = computed
        lanes.prepare(self.sequence)

    def write(self, count: int) -> list[int]:
        """The next tokens."""
        sequence = self.sequence
        for _ in range(count):
            assert self.lanes.decode([Portion(sequence, sequence.computed, sequence.gap)]) == 0
            sequence.computed = len(sequence.known)
            sequence.known.append(self.lanes.draw(sequence).token)
        return sequence.known[-count:]


def test_a_copied_state_goes_on_as_the_original(model: Model, lanes: Lanes) -> None:
    tokens = model.vocabulary.tokenize(PROMPT, markers=False)
    first = Run(lanes, 1, 0, tokens, 0)
    begun = first.write(5)
    state = lanes.save(0)
    assert lanes.load(2, state)
    copy = Run(lanes, 2, 2, [*tokens, *begun], len(tokens) + 4)
    assert copy.write(20) == first.write(20)


def test_a_cut_lane_is_as_if_the_rest_had_never_been(model: Model, lanes: Lanes) -> None:
    assert lanes.cuts
    tokens = model.vocabulary.tokenize(PROMPT, markers=False)
    short = tokens[: len(tokens) // 2]
    fresh = Run(lanes, 1, 0, short, 0).write(12)
    Run(lanes, 2, 1, tokens, 0).write(3)
    lanes.keep(1, len(short) - 1)
    assert Run(lanes, 3, 1, short, len(short) - 1).write(12) == fresh


def test_a_state_of_another_kind_does_not_go_in(lanes: Lanes) -> None:
    assert not lanes.load(0, memoryview(b"\0" * 64))


def test_fewer_threads_write_the_same(model: Model, lanes: Lanes) -> None:
    tokens = model.vocabulary.tokenize(PROMPT, markers=False)
    both = Run(lanes, 1, 0, tokens, 0).write(10)
    lanes.use_threads(1)
    assert Run(lanes, 2, 1, tokens, 0).write(10) == both


def test_a_prompt_read_in_the_reading_room_is_written_on_from_its_own_lane(model: Model) -> None:
    lanes = Lanes(model, Settings(slots=5, context=512, batch=256))
    plain = Lanes(model, Settings(slots=1, context=512, batch=256, kv_type="bf16"))
    # Cut in the sentence that comes again and again, what follows is not a matter of rounding.
    tokens = model.vocabulary.tokenize(PROMPT * 3, markers=False)[:-7]
    alone = Run(plain, 1, 0, tokens, 0).write(12)
    assert Run(lanes, 1, 3, tokens, 0).write(12) == alone
    # Begun elsewhere, cut, read in turns with others for whom there is no lane, and in bits.
    runs = [Run(lanes, slot, slot, tokens, 0).sequence for slot in range(3)]
    upto = 0
    while upto < len(tokens):
        count = min([20, 70, 90][upto % 3], len(tokens) - upto)
        for run in runs:
            assert lanes.decode([Portion(run, upto, count)]) == 0
            if run.slot == 1 and upto + count < len(tokens):
                lanes.keep(1, upto + count - 5)
                assert lanes.decode([Portion(run, upto + count - 5, 5)]) == 0
        upto += count
    for run in runs:
        lanes.keep(run.slot or 0, len(tokens) - 1)
    for slot in range(3):
        assert Run(lanes, 9, slot, tokens, len(tokens) - 1).write(12) == alone
    # What was read and never written on leaves a state that goes in elsewhere.
    last = Run(lanes, 4, 4, tokens[:-1], 0).sequence
    assert lanes.decode([Portion(last, 0, last.gap)]) == 0
    state = lanes.save(4)
    lanes.keep(4, 0)
    assert lanes.load(4, state)
    assert Run(lanes, 5, 4, tokens, len(tokens) - 1).write(12) == alone
    lanes.close()
    plain.close()
