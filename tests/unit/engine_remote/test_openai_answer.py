"""The OpenAI dialect, bytes to events: recordings of real engines and every known habit."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from engine_adapter.errors import Broken, ContextTooLong, Overloaded, Refused
from engine_adapter.remote.answer import Answer
from engine_adapter.thinking import ThinkingTags
from engine_adapter.types import Event, Failed, Finished, Progress, Reasoning, Text, Usage
from tests.unit.engine_remote.replay import GOLDEN


def events(*chunks: bytes) -> list[Event]:
    answer = Answer(ThinkingTags())
    read: list[Event] = []
    for chunk in chunks:
        read += answer.feed(chunk)
    return [*read, *answer.end()]


def merged(given: list[Event]) -> list[Event]:
    """Neighbouring texts as one: where an answer is cut says nothing."""
    joined: list[Event] = []
    for event in given:
        if joined and isinstance(event, Text) and isinstance(joined[-1], Text):
            joined[-1] = Text(joined[-1].text + event.text)
        else:
            joined.append(event)
    return joined


def frame(value: object, *, event: str = "") -> bytes:
    head = f"event: {event}\n" if event else ""
    return f"{head}data: {json.dumps(value)}\n\n".encode()


def delta(finish: str | None = None, **fields: object) -> bytes:
    return frame({"choices": [{"index": 0, "delta": fields, "finish_reason": finish}]})


STOP = delta("stop")
DONE = b"data: [DONE]\n\n"


@pytest.mark.parametrize(
    ("engine", "name", "text", "end"),
    [
        ("llamacpp", "chat_stream_usage", "Hi, welcome to my chat!", ("stop", Usage(36, 8))),
        ("llamacpp", "chat_stream_nousage", "Hi, welcome to my chat", ("length", None)),
        ("vllm_cpu", "chat_stream_usage", "Hello, welcome to my world!", ("stop", Usage(36, 8))),
        ("vllm_cpu", "chat_stream_nousage", "Hello, welcome to my world", ("length", None)),
        ("sglang_cpu", "chat_stream_usage", "I'm sorry for any confusion.", ("stop", Usage(36, 8))),
        ("sglang_cpu", "chat_stream_nousage", "I'm sorry for any confusion", ("length", None)),
    ],
)
def test_recordings_at_every_split(
    engine: str, name: str, text: str, end: tuple[str, Usage | None]
) -> None:
    stream = (GOLDEN / engine / f"{name}.body").read_bytes()
    expected = events(stream)
    assert merged(expected) == [Text(text), Finished(*end)]  # type: ignore[arg-type]  # a known reason
    for at in range(len(stream) + 1):
        assert events(stream[:at], stream[at:]) == expected, at
    assert events(*(stream[at : at + 1] for at in range(len(stream)))) == expected


def test_a_recording_cut_off_anywhere_before_its_finish_is_a_failure() -> None:
    stream = (GOLDEN / "vllm_cpu" / "chat_stream_usage.body").read_bytes()
    finish = stream.index(b'"finish_reason":"stop"')
    for at in range(0, finish, 7):
        *texts, end = events(stream[:at])
        assert isinstance(end, Failed)
        assert isinstance(end.error, Broken)
        assert "Hello, welcome to my world!".startswith(
            "".join(text.text for text in texts if isinstance(text, Text))
        )


HABITS: dict[str, tuple[list[bytes], list[Event]]] = {
    "null, empty and missing content": (
        [delta(role="assistant", content=None), delta(content=""), delta(), delta(content="a")],
        [Text("a")],
    ),
    "role in every frame": (
        [delta(role="assistant", content="a"), delta(role=None, content="b")],
        [Text("a"), Text("b")],
    ),
    "no choices": (
        [frame({"choices": []}), frame({"choices": None}), frame({}), delta(content="a")],
        [Text("a")],
    ),
    "null delta": (
        [frame({"choices": [{"index": 0, "delta": None}, None]}), delta(content="a")],
        [Text("a")],
    ),
    "a second choice": (
        [frame({"choices": [{"index": 1, "delta": {"content": "x"}}]}), delta(content="a")],
        [Text("a")],
    ),
    "reasoning under three names": (
        [
            delta(reasoning_content="a", content=""),
            delta(reasoning="b", content=None),
            delta(thinking="c", reasoning=None),
            delta(reasoning_content="", content="d"),
        ],
        [Reasoning("a"), Reasoning("b"), Reasoning("c"), Text("d")],
    ),
    "reasoning between tags": (
        [delta(content="<thi"), delta(content="nk>a</think>"), delta(content="\nb")],
        [Reasoning("a"), Text("b")],
    ),
    "reasoning told apart leaves tags alone": (
        [delta(reasoning="a"), delta(content="<think> is a tag")],
        [Reasoning("a"), Text("<think> is a tag")],
    ),
    "progress before the first token only": (
        [
            frame({"choices": [], "progress": {"ahead": 2}}),
            frame({"choices": [], "progress": {"ahead": 0, "computed": 5, "total": 9}}),
            delta(content="a"),
            frame({"choices": [], "progress": {"ahead": 0, "computed": 9, "total": 9}}),
        ],
        [Progress(2), Progress(0, 5, 9), Text("a")],
    ),
    "progress as llama.cpp's server tells it": (
        [
            frame(
                {
                    "choices": [{"index": 0, "delta": {"role": "assistant", "content": None}}],
                    "prompt_progress": {"total": 90, "cache": 30, "processed": 60, "time_ms": 1},
                }
            ),
            delta(content="a"),
            frame({"choices": [], "prompt_progress": {"total": 90, "processed": 90}}),
        ],
        [Progress(0, 60, 90), Text("a")],
    ),
    "a finish on the way": (
        [delta("stop", reasoning="a"), delta(content="b")],
        [Reasoning("a"), Text("b")],
    ),
    "comments and foreign events": (
        [b": ping\n\n", b'event: sglext\ndata: {"choices": []}\n\n', delta(content="a")],
        [Text("a")],
    ),
    "trailing spaces": ([b'data: {"choices":[{"delta":{"content":"a"}}]}  \r\n\r\n'], [Text("a")]),
    "a pair of surrogates cut in two": (
        [delta(content="a\ud83c"), delta(content="\udf0ab")],
        [Text("a"), Text("🌊b")],
    ),
    "half a pair": (
        [delta(content="\udf0a"), delta(content="b\ud83c")],
        [Text("\ufffd"), Text("b"), Text("\ufffd")],
    ),
    "line separators": ([delta(content="a\u2028b\u0085c")], [Text("a\u2028b\u0085c")]),
}


@pytest.mark.parametrize("habit", HABITS)
def test_habits(habit: str) -> None:
    frames, expected = HABITS[habit]
    assert events(*frames, STOP, DONE) == [*expected, Finished("stop")]


@pytest.mark.parametrize(
    ("finish", "reason"),
    [
        *(("length", "length"), ("max_tokens", "length"), ("cancelled", "cancelled")),
        *(("eos_token", "stop"), ("stop_sequence", "stop"), ("function_call", "tool_calls")),
        *(("abort", "other"), ("repetition", "other"), ("cache_threshold", "other")),
        *(("content_filter", "other"), ("", "other")),
    ],
)
def test_finish_reasons(finish: str, reason: str) -> None:
    assert events(delta(content="a"), delta(finish), DONE)[-1] == Finished(reason)  # type: ignore[arg-type]  # a known reason


def test_an_answer_that_ends_with_an_error_is_no_answer() -> None:
    text, end = events(delta(content="a"), delta("error"), DONE)
    assert text == Text("a")
    assert isinstance(end, Failed)
    assert isinstance(end.error, Broken)


def test_the_last_usage_counts_wherever_it_stands() -> None:
    def usage(written: int) -> dict[str, Any]:
        return {"prompt_tokens": 5, "completion_tokens": written, "prompt_tokens_details": None}

    choice: dict[str, Any] = {"index": 0, "delta": {"content": "a"}, "finish_reason": None}
    finish: dict[str, Any] = {"index": 0, "delta": {}, "finish_reason": "stop"}
    cached = usage(2) | {"prompt_tokens_details": {"cached_tokens": 4}}
    stream = [
        frame({"choices": [choice], "usage": usage(1)}),
        frame({"choices": [finish], "usage": cached}),
        frame({"choices": [], "usage": None}),
    ]
    assert events(*stream, DONE)[-1] == Finished("stop", Usage(5, 2, 4))
    assert events(*stream, frame({"choices": [], "usage": usage(3)}))[-1] == Finished(
        "stop", Usage(5, 3)
    )


def test_a_finish_without_done_is_a_success_and_done_without_a_finish_too() -> None:
    assert events(delta(content="a"), STOP) == [Text("a"), Finished("stop")]
    for done in (DONE, b"data:[DONE] \r\n\r\n"):
        assert events(delta(content="a"), done) == [Text("a"), Finished("other")]


@pytest.mark.parametrize("stream", [[], [delta(content="a")], [DONE], [delta(role="assistant")]])
def test_an_end_that_nobody_announced_is_a_failure(stream: list[bytes]) -> None:
    *_, end = events(*stream)
    assert isinstance(end, Failed)
    assert isinstance(end.error, Broken)


def test_nothing_counts_after_done() -> None:
    assert events(delta(content="a"), STOP, DONE, delta(content="b"), frame({"error": "x"})) == [
        Text("a"),
        Finished("stop"),
    ]


def errors() -> Iterator[tuple[dict[str, object], type[Exception]]]:
    yield {"error": {"code": 503, "message": "queue full"}}, Overloaded
    yield {"error": {"type": "rate_limit_exceeded"}}, Overloaded
    yield {"error": {"code": 400, "type": "invalid_request_error"}}, Refused
    yield {"error": {"code": "context_length_exceeded"}}, ContextTooLong
    yield {"object": "error", "code": 429}, Overloaded
    yield {"error": {"code": 500, "message": "Context size has been exceeded."}}, Broken
    yield {"error": "something"}, Broken
    yield {"detail": "Not Found", "code": 404}, Refused


@pytest.mark.parametrize(("value", "kind"), list(errors()))
def test_an_error_frame_before_the_first_token_is_what_the_status_would_be(
    value: dict[str, object], kind: type[Exception]
) -> None:
    (end,) = events(delta(role="assistant", content=""), frame(value), DONE)
    assert isinstance(end, Failed)
    assert type(end.error) is kind
    text, end = events(delta(content="a"), frame(value), DONE)
    assert text == Text("a")
    assert isinstance(end, Failed)
    assert type(end.error) is Broken


@pytest.mark.parametrize(
    "nonsense",
    [
        b"data: {\n\n",
        b"data: [1]\n\n",
        b"data: " + b"[" * 100_000 + b"\n\n",
        frame({"choices": {"0": {}}}),
        delta(content=["secret words"]),
        frame({"message": "secret words"}, event="error"),
        b"data: " + b"x" * (1 << 20) + b"\n\n",
    ],
)
def test_nonsense_is_a_failure_that_keeps_the_text(nonsense: bytes) -> None:
    text, end = events(delta(content="secret"), nonsense, STOP, DONE)
    assert text == Text("secret")
    assert isinstance(end, Failed)
    assert isinstance(end.error, Broken)
    assert "secret" not in str(end.error)
    assert len(str(end.error)) < 200


def test_text_held_back_is_kept_when_the_stream_breaks() -> None:
    assert events(delta(content="<thi"))[0] == Text("<thi")
