"""Tokens drawn from a real model's logits: exactly as llama.cpp's own whole chain draws them, held
to a grammar, with the model's own probabilities, and never an end of the process."""

from __future__ import annotations

import ctypes
import json
from collections.abc import Iterator
from pathlib import Path

import llama_cpp.llama_cpp as C
import numpy as np
import pytest

from engine_adapter.bundled.config import Defaults, Settings
from engine_adapter.bundled.llama.lanes import Lanes
from engine_adapter.bundled.llama.model import Model
from engine_adapter.bundled.llama.sampler import Sampler
from engine_adapter.bundled.llama.vocabulary import Vocabulary
from engine_adapter.bundled.loading import Loading
from engine_adapter.bundled.portion import Portion
from engine_adapter.bundled.sequence import Drawn, Sequence
from engine_adapter.errors import Broken, Refused
from engine_adapter.types import Sampling

PROMPT = "Once upon a time, in a land far away, a dog and a dog and"
DEFAULTS = Defaults()


class Desk:
    """A model, a context, and answers written token by token."""

    def __init__(self, path: Path) -> None:
        loading = Loading(path, Settings(slots=1, context=512, batch=64, threads=1), repack=False)
        self.model = Model(loading)
        self.vocabulary: Vocabulary = self.model.vocabulary
        self.lanes = Lanes(self.model, loading.settings)
        self.prompt = self.vocabulary.tokenize(PROMPT, markers=False)
        self.decode(self.prompt)

    def decode(self, tokens: list[int]) -> None:
        self.lanes.keep(0, 0)
        sequence = Sequence(id=1, known=tokens, room=1, slot=0)
        assert self.lanes.decode([Portion(sequence, 0, len(tokens))]) == 0
        self.row = len(tokens) - 1

    @property
    def context(self) -> C.llama_context_p:
        return self.lanes._at[0].handle

    @property
    def logits(self) -> np.ndarray:
        pointer = C.llama_get_logits_ith(self.context, self.row)
        return np.ctypeslib.as_array(pointer, (self.vocabulary.size,))

    def sampler(self, sampling: Sampling, prompt: list[int] | None = None) -> Sampler:
        return Sampler(self.vocabulary, sampling, DEFAULTS, prompt or [])

    def draw(self, sampler: Sampler) -> Drawn:
        return sampler.draw(self.context, self.row)

    def write(self, sampling: Sampling, count: int, prompt: str = PROMPT) -> str:
        """So many tokens, or fewer where the model ends; the text."""
        known = self.vocabulary.tokenize(prompt, markers=False)
        sampler, text = self.sampler(sampling), b""
        self.decode(known)
        for _ in range(count):
            token = self.draw(sampler).token
            if self.vocabulary.ends(token):
                break
            text += self.vocabulary.piece(token)
            known.append(token)
            sequence = Sequence(id=1, known=known, room=1, slot=0)
            assert self.lanes.decode([Portion(sequence, len(known) - 1, 1)]) == 0
            self.row = 0
        else:
            text += "…".encode()
        sampler.close()
        self.decode(self.prompt)
        return text.decode()


@pytest.fixture(scope="module")
def desk(starter_model: Path) -> Iterator[Desk]:
    opened = Desk(starter_model)
    yield opened


def whole_chain(desk: Desk, sampling: Sampling) -> C.llama_sampler_p:
    """What llama.cpp's own server would draw with, over all candidates."""
    chain = C.llama_sampler_chain_init(C.llama_sampler_chain_default_params())
    vocabulary = desk.vocabulary

    def value(asked: float | None, otherwise: float) -> float:
        return otherwise if asked is None else asked

    biases = (C.llama_logit_bias * len(sampling.logit_bias))(*sampling.logit_bias)
    breakers = (ctypes.c_char_p * 4)(b"\n", b":", b'"', b"*")
    temperature = value(sampling.temperature, DEFAULTS.temperature)
    parts = [
        C.llama_sampler_init_logit_bias(vocabulary.size, len(biases), biases),
        C.llama_sampler_init_penalties(
            vocabulary.size,
            64,
            value(sampling.repetition_penalty, 1),
            value(sampling.frequency_penalty, 0),
            value(sampling.presence_penalty, 0),
        ),
        C.llama_sampler_init_dry(
            vocabulary.handle, value(sampling.dry_multiplier, 0), 1.75, 2, 64, breakers, 4
        ),
        C.llama_sampler_init_top_k(int(value(sampling.top_k, DEFAULTS.top_k))),
        C.llama_sampler_init_typical(value(sampling.typical_p, 1), 1),
        C.llama_sampler_init_top_p(value(sampling.top_p, DEFAULTS.top_p), 1),
        C.llama_sampler_init_min_p(value(sampling.min_p, DEFAULTS.min_p), 1),
        C.llama_sampler_init_temp(temperature),
        C.llama_sampler_init_dist(sampling.seed or 0),
    ]
    if temperature == 0:
        parts[3:] = [C.llama_sampler_init_greedy()]
    for part in parts:
        C.llama_sampler_chain_add(chain, part)
    for token in desk.prompt:
        C.llama_sampler_accept(chain, token)
    return chain


CHOICES = {
    "greedy": Sampling(temperature=0),
    "default": Sampling(seed=1),
    "hot": Sampling(seed=2, temperature=2.0, min_p=0.0, top_p=1.0, top_k=200),
    "typical": Sampling(seed=3, typical_p=0.5, temperature=1.5),
    "no top k": Sampling(seed=4, top_k=0, temperature=1.5),
    "minus one is no top k": Sampling(seed=4, top_k=-1, temperature=1.5),
    "bias": Sampling(seed=5, logit_bias=((7, 30.0), (284, 28.0), (253, -50.0))),
    "repetition": Sampling(seed=6, repetition_penalty=1.5, temperature=1.5),
    "presence": Sampling(temperature=0, presence_penalty=3.0, frequency_penalty=2.0),
    "negative presence": Sampling(seed=8, presence_penalty=-30.0, temperature=1.5),
    "dry": Sampling(seed=9, dry_multiplier=5.0, temperature=1.5),
    "everything": Sampling(
        seed=10,
        temperature=1.5,
        top_k=100,
        typical_p=0.9,
        repetition_penalty=1.2,
        frequency_penalty=0.3,
        dry_multiplier=0.8,
        logit_bias=((1000, 12.0),),
    ),
}


@pytest.mark.parametrize("name", CHOICES)
def test_draws_are_those_of_the_whole_chain_over_all_tokens(desk: Desk, name: str) -> None:
    sampling = CHOICES[name]
    chain = whole_chain(desk, sampling)
    sampler = desk.sampler(sampling, desk.prompt)
    theirs = [C.llama_sampler_sample(chain, desk.context, desk.row) for _ in range(60)]
    ours = [desk.draw(sampler).token for _ in range(60)]
    C.llama_sampler_free(chain)
    sampler.close()
    assert ours == theirs
    if name in ("hot", "everything"):
        assert len(set(ours)) > 5


def test_probabilities_are_the_models_own(desk: Desk) -> None:
    logits = desk.logits.astype(np.float64)
    expected = logits - np.log(np.exp(logits - logits.max()).sum()) - logits.max()
    best = np.argsort(-expected)[:3].tolist()
    sampler = desk.sampler(Sampling(temperature=0, logprobs=3, logit_bias=((99, 90.0),)))
    drawn = desk.draw(sampler)
    assert drawn.token == 99 and drawn.logprob is not None
    assert drawn.logprob.token == desk.vocabulary.piece(99)
    assert drawn.logprob.logprob == pytest.approx(expected[99], abs=1e-4)
    assert [text for text, _ in drawn.logprob.top] == [desk.vocabulary.piece(t) for t in best]
    assert [p for _, p in drawn.logprob.top] == pytest.approx(expected[best].tolist(), abs=1e-4)
    none = desk.sampler(Sampling(temperature=0, logprobs=0))
    told = desk.draw(none).logprob
    assert told is not None and told.top == () and told.logprob <= 0
    sampler.close()
    none.close()


@pytest.mark.parametrize("sampling", [Sampling(temperature=0), Sampling(), Sampling(top_k=0)])
@pytest.mark.parametrize("wrong", [np.nan, np.inf, -np.inf])
def test_logits_that_are_no_numbers_end_this_answer_alone(
    desk: Desk, sampling: Sampling, wrong: float
) -> None:
    kept = desk.logits.copy()
    sampler = desk.sampler(sampling)
    try:
        desk.logits[:] = wrong
        with pytest.raises(Broken):
            desk.draw(sampler)
        if wrong != -np.inf:
            desk.logits[:] = kept
            desk.logits[1234] = wrong
            with pytest.raises(Broken):
                desk.draw(sampler)
    finally:
        desk.logits[:] = kept
    assert 0 <= desk.draw(sampler).token < desk.vocabulary.size
    sampler.close()


@pytest.mark.parametrize(
    "sampling",
    [
        Sampling(temperature=float("nan")),
        Sampling(temperature=-1),
        Sampling(top_p=float("inf")),
        Sampling(repetition_penalty=0),
        Sampling(top_k=-2),
        Sampling(logit_bias=((1 << 20, 1.0),)),
        Sampling(logit_bias=((1, float("nan")),)),
        Sampling(grammar='root ::= root "a" | "a"'),
        Sampling(json_schema='{"type": 1}'),
    ],
)
def test_what_no_tokens_can_be_drawn_by_is_refused(desk: Desk, sampling: Sampling) -> None:
    with pytest.raises(Refused):
        desk.sampler(sampling)


def test_a_very_cold_temperature_is_greedy_and_hot_ones_stay_in_range(desk: Desk) -> None:
    best = int(desk.logits.argmax())
    for temperature in (1e-30, 1e-4, 2e-3):
        sampler = desk.sampler(Sampling(temperature=temperature))
        assert desk.draw(sampler).token == best
        sampler.close()


def test_an_end_is_never_drawn_where_it_is_not_wanted(desk: Desk) -> None:
    end = min(desk.vocabulary.enders)
    for temperature in (0.0, 1.0):
        wanted = Sampling(temperature=temperature, logit_bias=((end, 100.0),))
        sampler = desk.sampler(wanted)
        assert desk.draw(sampler).token == end
        sampler.close()
        kept = desk.logits[end]
        desk.logits[end] = 100
        sampler = desk.sampler(Sampling(temperature=temperature, ignore_eos=True))
        assert not desk.vocabulary.ends(desk.draw(sampler).token)
        sampler.close()
        desk.logits[end] = kept


SCHEMA = {
    "type": "object",
    "properties": {
        "animal": {"enum": ["dog", "cat", "çita"]},
        "age": {"type": "integer", "minimum": 1, "maximum": 20},
        "tags": {"type": "array", "items": {"type": "string", "maxLength": 8}, "maxItems": 2},
    },
    "required": ["animal", "age", "tags"],
}


@pytest.mark.parametrize(
    "sampling",
    [Sampling(temperature=0), Sampling(temperature=1.8, top_k=0, top_p=1.0, min_p=0.0)],
)
def test_a_schema_holds_a_model_that_would_rather_tell_a_story(
    desk: Desk, sampling: Sampling
) -> None:
    for seed in range(3):
        asked = Sampling(
            temperature=sampling.temperature,
            top_k=sampling.top_k,
            top_p=sampling.top_p,
            min_p=sampling.min_p,
            seed=seed,
            json_schema=json.dumps(SCHEMA),
            ignore_eos=seed == 2,
        )
        text = desk.write(asked, 300)
        value = json.loads(text)
        assert value["animal"] in ("dog", "cat", "çita") and 1 <= value["age"] <= 20
        assert len(value["tags"]) <= 2 and all(len(tag) <= 8 for tag in value["tags"])


def test_a_grammar_may_ask_for_letters_of_several_tokens(desk: Desk) -> None:
    text = desk.write(Sampling(temperature=0, grammar='root ::= "🌊𓀀" [ğş]{3} "."'), 40)
    assert text[:2] == "🌊𓀀" and len(text) == 6 and set(text[2:5]) <= set("ğş")


def test_penalties_hold_inside_a_grammar(desk: Desk) -> None:
    grammar = 'root ::= (" a" | " b" | " c"){6}'
    free = desk.write(Sampling(temperature=0, grammar=grammar), 20)
    held = desk.write(Sampling(temperature=0, grammar=grammar, presence_penalty=100.0), 20)
    assert len(set(held[1:6:2])) == 3, (free, held)


def test_a_grammar_that_explodes_ends_its_own_answer(desk: Desk) -> None:
    bomb = "root ::= [a-z ]+ | e\n" + 'e ::= [a-z ] (e "x" | e "y" | e "z")*\n'
    sampler = desk.sampler(Sampling(temperature=0, grammar=bomb))
    with pytest.raises(Broken, match="ambiguous"):
        for _ in range(200):
            desk.draw(sampler)
    sampler.close()


def test_tags_of_the_template_are_shown_as_text(starter_model: Path) -> None:
    model = Model(Loading(starter_model, Settings(), repack=False))
    vocabulary = model.vocabulary
    tag = vocabulary.tokenize("<|im_start|>", markers=True)
    assert len(tag) == 1 and vocabulary.piece(tag[0]) == b""
    shown = vocabulary.show(["<tool_call>", "<|im_start|>", "<|im_end|>", "", "a"])
    assert shown == {"<|im_start|>"}
    assert vocabulary.piece(tag[0]) == b"<|im_start|>"
    assert vocabulary.spelling(min(vocabulary.enders)) != b""
