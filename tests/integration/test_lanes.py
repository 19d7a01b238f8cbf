"""The real context: states that are copied and cut give what a fresh computation gives."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from engine_adapter.bundled.config import Settings
from engine_adapter.bundled.llama.lanes import Lanes
from engine_adapter.bundled.llama.model import Model
from engine_adapter.bundled.llama.reading import LAST, ReadingRoom
from engine_adapter.bundled.llama.rests import Rests
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


def test_more_prompts_than_reading_lanes_are_read_in_one_step(model: Model, lanes: Lanes) -> None:
    prompts = [model.vocabulary.tokenize(f"{n}. {PROMPT}", markers=False)[:80] for n in range(3)]
    alone = []
    for prompt in prompts:
        alone.append(Run(lanes, 9, 0, prompt, 0).write(6))
        lanes.keep(0, 0)
    runs = [Run(lanes, n, n, prompt, 0) for n, prompt in enumerate(prompts)]
    sequences = [run.sequence for run in runs]
    assert lanes.decode([Portion(each, 0, each.gap) for each in sequences]) == 0
    for sequence in sequences:
        sequence.computed = len(sequence.known)
        sequence.known.append(lanes.draw(sequence).token)
    for run, prompt, words in zip(runs, prompts, alone, strict=True):
        run.write(5)
        assert run.sequence.known[len(prompt) :] == words


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


@pytest.mark.parametrize(("last", "told"), [(LAST, [64, 64]), (LAST - 1, [64])])
def test_the_end_of_a_prompt_is_read_where_the_rest_was_unless_it_is_short(
    model: Model, monkeypatch: pytest.MonkeyPatch, last: int, told: list[int]
) -> None:
    counts: list[int] = []
    whole_tile = ReadingRoom.whole_tile

    def counting(self: ReadingRoom, portion: Portion) -> Portion:
        whole = whole_tile(self, portion)
        counts.append(whole.count)
        return whole

    monkeypatch.setattr(ReadingRoom, "whole_tile", counting)
    lanes = Lanes(model, Settings(slots=4, context=512, batch=256))
    plain = Lanes(model, Settings(slots=1, context=512, batch=256, kv_type="bf16"))
    tokens = model.vocabulary.tokenize(PROMPT * 3, markers=False)[: 64 + last]
    run = Run(lanes, 1, 0, tokens, 0)
    assert lanes.decode([Portion(run.sequence, 0, 64)]) == 0
    run.sequence.computed = 64
    assert run.write(12) == Run(plain, 1, 0, tokens, 0).write(12)
    assert counts == told
    lanes.close()
    plain.close()


BEGUN = 70  # tokens that all have


class Together:
    """Prompts of several lengths behind one beginning, which every slot has read."""

    def __init__(self, model: Model) -> None:
        settings = Settings(slots=4, context=512, batch=256)
        self.lanes = Lanes(model, settings)
        self.plain = Lanes(model, Settings(slots=1, context=512, batch=256, kv_type="bf16"))
        # What follows is not a matter of rounding, but differs with where the prompt ends.
        self.tokens = model.vocabulary.tokenize(PROMPT * 3, markers=False)
        self.ends = [BEGUN + rest for rest in (21, 50, 60)]
        first = Run(self.lanes, 8, 0, self.tokens[:BEGUN], 0).sequence
        assert self.lanes.decode([Portion(first, 0, BEGUN)]) == 0
        state = self.lanes.save(0)
        for slot in (1, 2, 3):
            assert self.lanes.load(slot, state)
        self.runs = [
            Run(self.lanes, slot, slot, self.tokens[:end], BEGUN)
            for slot, end in enumerate(self.ends)
        ]

    def portions(self) -> list[Portion]:
        return [Portion(run.sequence, BEGUN, run.sequence.gap) for run in self.runs]

    def read(self, upto: int) -> int:
        """One step, in which each rest is read so far."""
        portions = []
        for run in self.runs:
            sequence = run.sequence
            if count := min(upto, len(sequence.known)) - sequence.computed:
                portions.append(Portion(sequence, sequence.computed, count))
                sequence.computed += count
        return self.lanes.decode(portions)

    def draw(self) -> None:
        """What follows, once all rests are read."""
        for run in self.runs:
            run.sequence.computed = len(run.sequence.known)
            run.sequence.known.append(self.lanes.draw(run.sequence).token)

    def check(self) -> None:
        """What is written on is what each would have written alone."""
        for run, end in zip(self.runs, self.ends, strict=True):
            alone = Run(self.plain, 9, 0, self.tokens[:end], 0).write(12)
            self.plain.keep(0, 0)
            run.write(12 - (len(run.sequence.known) - end))
            assert run.sequence.known[end:] == alone

    def close(self) -> None:
        self.lanes.close()
        self.plain.close()


@pytest.fixture
def together(model: Model) -> Iterator[Together]:
    made = Together(model)
    yield made
    made.close()


@pytest.fixture
def gathered(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many were read together, each time that it was done."""
    counts: list[int] = []
    decode = Rests.decode

    def counting(self: Rests, portions: list[Portion]) -> int:
        counts.append(len(portions))
        return decode(self, portions)

    monkeypatch.setattr(Rests, "decode", counting)
    return counts


def test_rests_behind_one_beginning_are_read_together(
    together: Together, gathered: list[int]
) -> None:
    assert together.lanes.decode(together.portions()) == 0
    assert gathered == [3]
    together.draw()
    together.check()


@pytest.mark.parametrize(
    ("steps", "told"), [((22, 60), [3, 2]), ((22, 27, 40, 60), [3])], ids=["enough", "too little"]
)
def test_rests_are_read_on_together_while_there_is_enough_of_them(
    together: Together, gathered: list[int], steps: tuple[int, ...], told: list[int]
) -> None:
    firsts: dict[int, int] = {}
    for upto in steps:
        assert together.read(BEGUN + upto) == 0
        for number, run in enumerate(together.runs):
            if run.sequence.gap == 0 and number not in firsts:
                firsts[number] = together.lanes.draw(run.sequence).token
    assert gathered == told
    for number, run in enumerate(together.runs):
        run.sequence.known.append(firsts[number])
    together.check()


def test_a_rest_that_was_read_can_be_cut_and_saved(together: Together, gathered: list[int]) -> None:
    lanes = together.lanes
    assert lanes.decode(together.portions()) == 0
    for run in together.runs[:2]:
        run.sequence.computed = len(run.sequence.known) - 1
        lanes.keep(run.sequence.slot or 0, run.sequence.computed)
    state = lanes.save(2)
    lanes.keep(2, 0)
    lanes.keep(3, 0)
    assert lanes.load(3, state)
    last = together.runs[2].sequence
    last.slot, last.computed = 3, len(last.known) - 1
    lanes.keep(3, last.computed)
    together.check()
    assert gathered == [3]


@pytest.mark.parametrize(("public", "told"), [(BEGUN, [3]), (BEGUN - 1, [])])
def test_only_what_is_public_is_read_together_for_several_domains(
    together: Together, gathered: list[int], public: int, told: list[int]
) -> None:
    for run, domain in zip(together.runs, "abc", strict=True):
        run.sequence.domain, run.sequence.public = domain, public
    assert together.lanes.decode(together.portions()) == 0
    assert gathered == told


def test_a_step_that_fails_beside_changes_nothing(together: Together, gathered: list[int]) -> None:
    wrong = Run(together.lanes, 7, 3, [*together.tokens[:BEGUN], 10**9], BEGUN).sequence
    assert together.lanes.decode([*together.portions(), Portion(wrong, BEGUN, 1)]) != 0
    assert together.lanes.decode(together.portions()) == 0
    together.draw()
    together.check()
    assert gathered == [3, 3]


def test_few_or_long_rests_and_other_beginnings_are_read_apart(
    together: Together, gathered: list[int]
) -> None:
    for count in (2, 20):
        portions = [Portion(run.sequence, BEGUN, count) for run in together.runs]
        portions[0] = Portion(together.runs[0].sequence, BEGUN, 1)
        assert together.lanes.decode(portions) == 0
        for run in together.runs:
            together.lanes.keep(run.sequence.slot or 0, BEGUN)
    together.runs[1].sequence.known[0] += 1
    together.runs[2].sequence.known[0] += 2
    assert together.lanes.decode(together.portions()) == 0
    assert gathered == []
