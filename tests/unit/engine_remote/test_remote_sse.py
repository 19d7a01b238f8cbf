"""The SSE parser against the standard's rules, at every split."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine_adapter.remote.sse import Frame, Parser, TooLong


def frames(*chunks: bytes, limit: int = 1 << 20) -> list[Frame]:
    parser = Parser(limit=limit)
    return [frame for chunk in chunks for frame in parser.feed(chunk)]


@pytest.mark.parametrize(
    ("stream", "expected"),
    [
        (b"data: a\n\n", [("message", "a")]),
        (b"data:a\n\n", [("message", "a")]),
        (b"data:  a \n\n", [("message", " a ")]),
        (b"data: a\r\n\r\n", [("message", "a")]),
        (b"data: a\r\rdata: b\r\r", [("message", "a"), ("message", "b")]),
        (b"data: a\rdata: b\n\r\n", [("message", "a\nb")]),
        (b"event: error\ndata: a\n\ndata: b\n\n", [("error", "a"), ("message", "b")]),
        (b"data: a\ndata\ndata: b\n\n", [("message", "a\n\nb")]),
        (b"data:\n\n", [("message", "")]),
        (b": ping\n\n:\n\n", []),
        (b"event: nothing\n\ndata: a\n\n", [("message", "a")]),
        (b"id: 1\nretry: 5\nunknown: x\nnonsense\ndata: a\n\n", [("message", "a")]),
        (b"\xef\xbb\xbfdata: a\n\n", [("message", "a")]),
        (b"data: a\n\n\xef\xbb\xbfdata: b\n\n", [("message", "a")]),
        (b"data: unfinished\n", []),
        (
            "data: a\u2028b\u2029c\u0085d\x0be\x0cf\n\n".encode(),
            [("message", "a\u2028b\u2029c\u0085d\x0be\x0cf")],
        ),
        ("data: ışık 🌊\n\n".encode(), [("message", "ışık 🌊")]),
        (b"data: \xff\n\n", [("message", "\ufffd")]),
    ],
)
def test_streams_are_read_as_the_standard_says(
    stream: bytes, expected: list[tuple[str, str]]
) -> None:
    wanted = [Frame(*pair) for pair in expected]
    assert frames(stream) == wanted
    for at in range(len(stream) + 1):
        assert frames(stream[:at], stream[at:]) == wanted, at
    assert frames(*(bytes([byte]) for byte in stream)) == wanted


line_ends = st.sampled_from([b"\n", b"\r\n", b"\r"])
texts = st.text(alphabet=st.sampled_from("aı🌊\u2028\u0085: \ufeff"), max_size=8)


@given(
    events=st.lists(st.lists(texts, min_size=1, max_size=3), max_size=4),
    end=line_ends,
    bom=st.booleans(),
    comments=st.booleans(),
    cuts=st.lists(st.integers(0, 400), max_size=12),
)
def test_what_was_written_is_read_however_it_is_cut(
    events: list[list[str]], end: bytes, bom: bool, comments: bool, cuts: list[int]
) -> None:
    stream = b"\xef\xbb\xbf" if bom else b""
    for lines in events:
        stream += b": ping" + end + end if comments else b""
        stream += b"".join(b"data: " + line.encode() + end for line in lines) + end
    places = [0, *sorted(min(cut, len(stream)) for cut in cuts), len(stream)]
    chunks = [stream[a:b] for a, b in pairwise(places)]
    assert frames(*chunks) == [Frame("message", "\n".join(lines)) for lines in events]


def test_a_line_without_end_is_given_up() -> None:
    parser = Parser(limit=100)
    parser.feed(b"data: " + b"x" * 90)
    with pytest.raises(TooLong, match="line"):
        parser.feed(b"x" * 10)


@pytest.mark.parametrize("line", [b"data: xxxxxxxxxxxxxxxxxxxxxxxxx\n", b"data:\n"])
def test_an_event_without_end_is_given_up(line: bytes) -> None:
    with pytest.raises(TooLong, match="event"):
        frames(line * 200, limit=100)
    assert frames((line + b"\n") * 200, limit=100)[199].event == "message"
