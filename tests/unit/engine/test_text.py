"""The text of an answer is the same however its bytes are cut into tokens."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine_adapter.bundled.transcript import Transcript
from engine_adapter.types import Event, Text

SEA = "Deniz 🌊 çok güzel, ığüşöç — 👩‍👩‍👧 e\u0301 $x$"


def joined(events: list[Event]) -> str:
    return "".join(event.text for event in events if isinstance(event, Text))


def written(pieces: list[bytes], *stop: str) -> tuple[str, bool]:
    stream = Transcript(stop=stop)
    shown = [joined(stream.feed(piece)) for piece in pieces]
    return "".join(shown) + joined(stream.finish()), stream.stopped


def cut(data: bytes, places: list[int]) -> list[bytes]:
    edges = sorted({0, len(data), *(place % (len(data) + 1) for place in places)})
    return [data[a:b] for a, b in pairwise(edges)]


def test_every_two_cuts_of_a_text_with_long_characters_give_the_text() -> None:
    data = SEA.encode()
    for first in range(len(data) + 1):
        for second in range(first, len(data) + 1, 3):
            assert written([data[:first], data[first:second], data[second:]]) == (SEA, False)


def test_only_whole_characters_are_shown() -> None:
    stream = Transcript()
    wave = "🌊".encode()
    assert [stream.feed(wave[at : at + 1]) for at in range(4)] == [[], [], [], [Text("🌊")]]


def test_a_character_cut_off_by_the_end_is_dropped() -> None:
    assert written([b"a", "🌊".encode()[:3]]) == ("a", False)


def test_bytes_that_are_no_character_become_a_replacement() -> None:
    assert written([b"a\xff", b"b"]) == ("a\ufffdb", False)


@pytest.mark.parametrize(
    ("text", "stop", "expected"),
    [
        ("one END two", ["END"], "one "),
        ("one EN two", ["END"], "one EN two"),
        ("abcd", ["abcd", "bc"], "a"),
        ("aab", ["ab"], "a"),
        ("ababac", ["abac"], "ab"),
        ("Soru: ne?\nSoru:", ["\nSoru:"], "Soru: ne?"),
        ("dur 🌊 git", ["🌊"], "dur "),
        ("END", ["END"], ""),
    ],
)
def test_a_stop_string_ends_the_text_before_it_at_every_cut(
    text: str, stop: list[str], expected: str
) -> None:
    data = text.encode()
    stopped = expected != text
    for place in range(len(data) + 1):
        assert written([data[:place], data[place:]], *stop) == (expected, stopped)
    assert written([data[at : at + 1] for at in range(len(data))], *stop) == (expected, stopped)


def test_what_may_become_a_stop_string_is_held_back_and_released() -> None:
    stream = Transcript(stop=("</s>",))
    assert stream.feed(b"yes</") == [Text("yes")]
    assert stream.feed(b"b>") == [Text("</b>")]
    assert stream.feed(b"<") == []
    assert stream.finish() == [Text("<")]


def test_nothing_comes_after_a_stop() -> None:
    stream = Transcript(stop=("x",))
    assert stream.feed(b"axb") == [Text("a")]
    assert stream.feed(b"more") == []
    assert stream.finish() == []


@given(
    st.text(alphabet="abç🌊", max_size=30),
    st.lists(st.text(alphabet="abç🌊", min_size=1, max_size=4), max_size=3),
    st.lists(st.integers(0, 200), max_size=12),
)
def test_the_result_does_not_depend_on_the_cuts(
    text: str, stop: list[str], places: list[int]
) -> None:
    data = text.encode()
    whole = written([data], *stop)
    assert written(cut(data, places), *stop) == whole
    assert all(one not in whole[0] for one in stop)
