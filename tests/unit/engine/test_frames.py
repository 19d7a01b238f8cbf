"""What goes over the line between host and worker arrives as it went."""

from __future__ import annotations

import asyncio
import struct

import pytest
from hypothesis import given

from engine_adapter.bundled.frames import (
    LARGEST,
    event_from_json,
    event_to_json,
    pack,
    receive,
    request_from_json,
    request_to_json,
)
from engine_adapter.errors import (
    Broken,
    ContextTooLong,
    EngineError,
    Overloaded,
    Refused,
    Unreachable,
)
from engine_adapter.types import Event, Failed, Finished, Request, Text, TokenLogprob
from tests.unit.engine.requests import answers, requests


async def over_the_line(*data: bytes) -> dict | None:
    reader = asyncio.StreamReader()
    for piece in data:
        reader.feed_data(piece)
    reader.feed_eof()
    return await receive(reader)


def crossed(event: Event) -> Event:
    frame = asyncio.run(over_the_line(pack({"events": [[3, event_to_json(event)]]})))
    assert frame is not None
    ((id_, data),) = frame["events"]
    assert id_ == 3
    return event_from_json(data)


@given(requests())
def test_a_request_arrives_as_it_went(request: Request) -> None:
    frame = asyncio.run(over_the_line(pack({"ask": 1, "request": request_to_json(request)})))
    assert frame is not None
    assert request_from_json(frame["request"]) == request


@given(answers(drawn=True))
def test_events_arrive_as_they_went(events: list[Event]) -> None:
    assert [crossed(event) for event in events] == events


@pytest.mark.parametrize(
    "event",
    [
        Text("half \ud83c a pair"),
        Text("no", (TokenLogprob(b"\xff\x00", float("-inf")),)),
        Finished("cancelled"),
    ],
)
def test_odd_events_arrive_too(event: Event) -> None:
    assert crossed(event) == event


@pytest.mark.parametrize(
    ("error", "numbers"),
    [
        (EngineError("a"), {}),
        (Unreachable("b"), {}),
        (Refused("c"), {}),
        (Broken("d"), {}),
        (Overloaded("e", retry_after=2.5), {"retry_after": 2.5}),
        (
            ContextTooLong("f", prompt_tokens=9, context_length=None),
            {"prompt_tokens": 9, "context_length": None},
        ),
    ],
)
def test_errors_keep_kind_words_and_numbers(error: EngineError, numbers: dict) -> None:
    arrived = crossed(Failed(error))
    assert isinstance(arrived, Failed)
    assert type(arrived.error) is type(error)
    assert str(arrived.error) == str(error)
    assert {name: getattr(arrived.error, name) for name in numbers} == numbers


@pytest.mark.parametrize(
    "nonsense",
    [
        b"",
        b"\0\0",
        struct.pack(">I", 5) + b"{",
        struct.pack(">I", 5) + b"{{{{{",
        struct.pack(">I", 2) + b"[]",
        struct.pack(">I", LARGEST + 1) + b"{}",
    ],
)
async def test_nonsense_is_the_end_of_the_line(nonsense: bytes) -> None:
    assert await over_the_line(nonsense) is None
