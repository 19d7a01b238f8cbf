"""The frames of an answer: as OpenAI has them, and read back by our own other side."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine_adapter.bundled.dialect.told import Stream
from engine_adapter.bundled.dialect.whole import Whole
from engine_adapter.errors import Broken
from engine_adapter.remote.answer import Answer
from engine_adapter.types import (
    Event,
    Failed,
    Finished,
    Progress,
    Reasoning,
    Text,
    TokenLogprob,
    ToolCallPiece,
    Usage,
)
from tests.unit.engine.requests import answers

HEAD = {"id": "chatcmpl-1", "created": 5, "model": 'm"ü'}
CALL = [
    Text("Let me look."),
    ToolCallPiece(0, "", "call_1", "look"),
    ToolCallPiece(0, '{"at":'),
    ToolCallPiece(0, " 1}"),
    ToolCallPiece(1, "{}", "call_2", "leave"),
    Finished("tool_calls", Usage(7, 9, 3)),
]


def frames(stream: Stream, *events: Event, index: int = 0) -> list[Any]:
    """The frames' values; the last word of the stream as it is."""
    data = b"".join(stream.tell(index, event) for event in events)
    lines = [block.removeprefix("data: ") for block in data.decode().split("\n\n") if block]
    return [line if line == "[DONE]" else json.loads(line) for line in lines]


def choices(told: list[Any]) -> list[Any]:
    return [frame["choices"][0] for frame in told if frame != "[DONE]" and frame["choices"]]


@given(st.booleans().flatmap(lambda drawn: st.tuples(st.just(drawn), answers(drawn=drawn))))
def test_what_is_told_is_what_our_own_client_hears(case: tuple[bool, list[Event]]) -> None:
    drawn, events = case
    stream = Stream(HEAD, logprobs=drawn, usage=True, progress=True)
    told = b"".join(stream.tell(0, event) for event in events)
    assert stream.over
    answer = Answer(None)
    assert [*answer.feed(told), *answer.end()] == events


@given(answers(drawn=True))
def test_streamed_or_whole_says_the_same(events: list[Event]) -> None:
    told = choices(frames(Stream(HEAD, logprobs=True), *events))
    whole = Whole(logprobs=True)
    for event in events:
        whole.take(0, event)
    assert whole.over
    (choice,) = whole.as_json(HEAD)["choices"]
    message = choice["message"]
    deltas = [part["delta"] for part in told]
    assert (message["content"] or "") == "".join(d.get("content", "") for d in deltas)
    thought = "".join(d.get("reasoning_content", "") for d in deltas)
    assert message.get("reasoning_content", "") == thought
    tokens = [t for part in told for t in part.get("logprobs", {}).get("content", [])]
    assert choice["logprobs"]["content"] == tokens
    pieces = [piece for d in deltas for piece in d.get("tool_calls", [])]
    for index, call in enumerate(message.get("tool_calls", [])):
        own = [piece for piece in pieces if piece["index"] == index]
        assert (own[0]["id"], own[0]["function"]["name"]) == (call["id"], call["function"]["name"])
        arguments = "".join(piece["function"]["arguments"] for piece in own)
        assert call["function"]["arguments"] == arguments
    assert told[-1]["finish_reason"] == choice["finish_reason"]


def test_text_opens_with_who_speaks_and_ends_with_usage() -> None:
    end = Finished("stop", Usage(4, 2))
    told = frames(Stream(HEAD, usage=True), Text("Hı"), Text('"\n'), end)
    shared = {**HEAD, "object": "chat.completion.chunk"}

    def choice(finish: str | None = None, **delta: Any) -> dict[str, Any]:
        return {**shared, "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}

    usage = {
        "prompt_tokens": 4,
        "completion_tokens": 2,
        "total_tokens": 6,
        "prompt_tokens_details": {"cached_tokens": 0},
    }
    assert told == [
        choice(role="assistant", content=""),
        choice(content="Hı"),
        choice(content='"\n'),
        choice("stop"),
        {**shared, "choices": [], "usage": usage},
        "[DONE]",
    ]


def test_a_call_is_told_in_pieces_and_as_a_whole() -> None:
    told = choices(frames(Stream(HEAD), *CALL))
    assert [part["delta"]["tool_calls"][0] for part in told if "tool_calls" in part["delta"]] == [
        {
            "index": 0,
            "id": "call_1",
            "type": "function",
            "function": {"name": "look", "arguments": ""},
        },
        {"index": 0, "function": {"arguments": '{"at":'}},
        {"index": 0, "function": {"arguments": " 1}"}},
        {
            "index": 1,
            "id": "call_2",
            "type": "function",
            "function": {"name": "leave", "arguments": "{}"},
        },
    ]
    assert told[-1]["finish_reason"] == "tool_calls"
    whole = Whole()
    for event in CALL[1:]:
        whole.take(0, event)
    (choice,) = whole.as_json(HEAD)["choices"]
    assert choice["message"]["content"] is None
    assert [call["function"] for call in choice["message"]["tool_calls"]] == [
        {"name": "look", "arguments": '{"at": 1}'},
        {"name": "leave", "arguments": "{}"},
    ]


def test_log_probabilities_tell_bytes_and_never_infinity() -> None:
    drawn = TokenLogprob("ı".encode()[:1], -0.5, ((b"a", float("-inf")),))
    told = choices(frames(Stream(HEAD, logprobs=True), Text("x", (drawn,))))
    assert told[1]["logprobs"] == {
        "content": [
            {
                "token": "\ufffd",
                "logprob": -0.5,
                "bytes": [0xC4],
                "top_logprobs": [{"token": "a", "logprob": -9999.0, "bytes": [97]}],
            }
        ]
    }
    plain = frames(Stream(HEAD), Text("x", (drawn,)))
    assert "logprobs" not in json.dumps(plain)


def test_several_answers_are_told_apart_and_summed() -> None:
    stream = Stream(HEAD, choices=2, usage=True)
    events: list[tuple[int, Event]] = [
        (1, Text("b")), (0, Text("a")), (1, Finished("stop", Usage(5, 2, 5))),
        (0, Text("A")), (0, Finished("length", Usage(5, 3, 1))),
    ]  # fmt: skip
    told = [frame for index, event in events for frame in frames(stream, event, index=index)]
    spoken = [(c["index"], c["delta"].get("content")) for c in choices(told)]
    assert spoken == [(1, ""), (1, "b"), (0, ""), (0, "a"), (1, None), (0, "A"), (0, None)]
    assert told[-1] == "[DONE]"
    assert told[-2]["usage"]["prompt_tokens"] == 5
    assert told[-2]["usage"]["completion_tokens"] == 5
    assert told[-2]["usage"]["prompt_tokens_details"] == {"cached_tokens": 1}
    whole = Whole(2)
    for index, event in events:
        assert not whole.over
        whole.take(index, event)
    reply = whole.as_json(HEAD)
    assert [c["message"]["content"] for c in reply["choices"]] == ["aA", "b"]
    assert [c["finish_reason"] for c in reply["choices"]] == ["length", "stop"]
    assert reply["usage"] == told[-2]["usage"]


@pytest.mark.parametrize(
    "event", [Text("a\ud800b"), Reasoning("a\ud800b"), ToolCallPiece(0, "a\ud800b", "i", "n")]
)
def test_half_a_character_ends_no_stream(event: Event) -> None:
    stream = Stream(HEAD)
    frames(stream, Text("begun"))
    (told,) = frames(stream, event)
    assert "a\ufffdb" in json.dumps(told, ensure_ascii=False)


def test_a_failure_is_the_last_frame() -> None:
    stream = Stream(HEAD)
    told = frames(stream, Text("x"), Failed(Broken("The engine stopped.")))
    assert stream.over
    assert told[-1]["error"]["message"] == "The engine stopped."


def test_progress_is_told_where_it_is_asked_for_and_before_words_only() -> None:
    waiting = Progress(2, 0, 9)
    assert frames(Stream(HEAD), waiting) == []
    stream = Stream(HEAD, progress=True)
    (told,) = frames(stream, waiting)
    assert (told["choices"], told["progress"]["ahead"]) == ([], 2)
    assert len(frames(stream, Text("x"), waiting)) == 2
