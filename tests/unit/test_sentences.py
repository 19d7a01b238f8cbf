"""Every word that the engine adapter has for a reason is a sentence on pages in both languages."""

from __future__ import annotations

import re
import string
from typing import get_args

import pytest
from django.utils import translation

from chat.domain import diagnosis, reasons, sizes
from engine_adapter.errors import Broken, Cause, Refused
from engine_adapter.reasons import SENTENCES, why
from engine_adapter.remote.signs import SIGNS


def facts_of(code: str) -> dict[str, str | int]:
    names = {name for _, name, _, _ in string.Formatter().parse(SENTENCES[code]) if name}
    return {name: 5_100_000_000 if name.endswith("_bytes") else f"<{name}>" for name in names}


def said(code: str, language: str) -> str:
    with translation.override(language):
        return reasons.sentence(why(code, **facts_of(code)))


def test_there_is_one_for_each_and_none_for_what_is_no_reason() -> None:
    assert set(reasons.SENTENCES) == set(SENTENCES)


@pytest.mark.parametrize("code", SENTENCES)
def test_a_reason_is_a_sentence_in_both_languages(code: str) -> None:
    english, turkish = said(code, "en"), said(code, "tr")
    assert english != turkish
    for text in (english, turkish):
        assert text.strip() == text and text[-1] in ".:!?"
        assert "%(" not in text
    # What the two tell is the same.
    assert sorted(re.findall("<[a-z]+>", english)) == sorted(re.findall("<[a-z]+>", turkish))


@pytest.mark.parametrize("language", ["en", "tr"])
def test_every_cause_and_every_sign_has_its_words(language: str) -> None:
    with translation.override(language):
        for cause in get_args(Cause):
            assert diagnosis.of(Refused("x").because(cause))
        told = {diagnosis.sign(sign.name) for sign in SIGNS}
        sizes_told = sizes.size(5_160_000_000), sizes.size(92_000_000)
        models_told = sizes.parameters(134_515_008), sizes.parameters(7_240_000_000)
    assert len(told) == len(SIGNS) - 1, "two headers are of one gateway"
    assert sizes_told == (("5.2 GB", "92 MB") if language == "en" else ("5,2 GB", "92 MB"))
    assert models_told == (
        ("135 million", "7.2 billion") if language == "en" else ("135 milyon", "7,2 milyar")
    )


def test_in_turkish_no_sign_is_english() -> None:
    with translation.override("tr"):
        turkish = {sign.name: diagnosis.sign(sign.name) for sign in SIGNS}
    with translation.override("en"):
        assert not [name for name, words in turkish.items() if diagnosis.sign(name) == words]


def test_one_reason_after_the_other() -> None:
    error = Broken(why("died_loading", why("ended_sigkill"), model="big"))
    with translation.override("en"):
        words = diagnosis.of(error)
    assert words == (
        "The model big could not be loaded. Its process was ended by SIGKILL. The machine may have"
        " been short of memory."
    )
