"""Our grammars allow the same tokens as llama.cpp's own grammar sampler, step by step."""

from __future__ import annotations

import codecs
import ctypes
import json
from collections.abc import Iterator
from pathlib import Path
from random import Random

import llama_cpp.llama_cpp as C
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from engine_adapter.bundled.config import Settings
from engine_adapter.bundled.llama.grammar import parse
from engine_adapter.bundled.llama.matcher import Matcher
from engine_adapter.bundled.llama.model import Model
from engine_adapter.bundled.llama.vocabulary import Vocabulary
from engine_adapter.bundled.loading import Loading
from engine_adapter.bundled.schemas import to_grammar

GRAMMARS = [
    'root ::= "yes" | "no" | "yesterday "+',
    "root ::= [a-zğ ]{2,9} [^a-z]",
    'root ::= e\ne ::= t ("+" t)*\nt ::= [0-9]+ | "(" e ")"',
    'root ::= "🌊" . [あ-ん]? "x"*',
    to_grammar('{"type": "object"}'),
    to_grammar('{"type": "array", "items": {"type": "number"}, "maxItems": 3}'),
    to_grammar('{"type": "string", "pattern": "^[A-Z][a-z]+( [0-9]{1,3})?$"}', "<a>", "</a>"),
    to_grammar(
        json.dumps(
            {
                "properties": {
                    "a": {"enum": ["one", "only"]},
                    "b": {"type": "integer", "minimum": 3, "maximum": 1200},
                    "c": {"format": "date-time"},
                },
                "required": ["b"],
                "additionalProperties": {"type": "boolean"},
            }
        )
    ),
]


@pytest.fixture(scope="module")
def vocabulary(starter_model: Path) -> Iterator[Vocabulary]:
    model = Model(Loading(starter_model, Settings(), repack=False))
    yield model.vocabulary


class Theirs:
    """llama.cpp's grammar sampler over all tokens."""

    def __init__(self, vocabulary: Vocabulary, grammar: str) -> None:
        self.sampler = C.llama_sampler_init_grammar(vocabulary.handle, grammar.encode(), b"root")
        assert self.sampler, grammar
        self.data = (C.llama_token_data * vocabulary.size)()
        self.table = np.frombuffer(self.data, [("id", "i4"), ("logit", "f4"), ("p", "f4")])

    def allowed(self) -> set[int]:
        self.table["id"] = np.arange(len(self.table))
        self.table["logit"] = 0
        array = C.llama_token_data_array(self.data, len(self.table), -1, False)
        C.llama_sampler_apply(self.sampler, ctypes.byref(array))
        return set(np.flatnonzero(self.table["logit"] == 0).tolist())


def begins(text: bytes) -> bool:
    """Whether more could make it UTF-8."""
    try:
        codecs.getincrementaldecoder("utf-8")().decode(text)
    except UnicodeDecodeError:
        return False
    return True


def whole(text: bytes) -> bool:
    """Whether it is UTF-8."""
    return text.decode("utf-8", "ignore").encode() == text


@settings(
    max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(st.sampled_from(GRAMMARS), st.randoms(use_true_random=False))
def test_the_same_tokens_are_allowed(vocabulary: Vocabulary, grammar: str, random: Random) -> None:
    theirs, matcher = Theirs(vocabulary, grammar), Matcher(parse(grammar))
    control = {token for token in range(vocabulary.size) if not vocabulary.piece(token)}
    text = b""
    for _ in range(6):
        allowed = theirs.allowed()
        ends = bool(allowed & vocabulary.enders)
        # In llama.cpp a text may end within a character, and be no UTF-8; control tokens may stand
        # for their names. Nothing of this may ours.
        assert matcher.complete == (ends and whole(text))
        ours = {t for t in range(vocabulary.size) if matcher.allows(vocabulary.piece(t))}
        more = allowed - control - vocabulary.enders
        assert ours == {token for token in more if begins(text + vocabulary.piece(token))}
        listed = vocabulary.lexicon.fitting(matcher)
        assert listed is None or set(listed) == ours
        if not ours:
            break
        token = random.choice(sorted(ours))
        C.llama_sampler_accept(theirs.sampler, token)
        matcher.take(vocabulary.piece(token))
        text += vocabulary.piece(token)
    C.llama_sampler_free(theirs.sampler)
