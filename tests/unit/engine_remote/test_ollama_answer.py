"""Ollama's lines, bytes to events. No recording of a real one: its source and documentation."""

from __future__ import annotations

import json

import pytest

from engine_adapter.errors import Broken, ContextTooLong, Overloaded, Refused
from engine_adapter.remote import faults
from engine_adapter.remote.ndjson import Lines
from engine_adapter.remote.ollama_answer import OllamaAnswer
from engine_adapter.remote.sse import TooLong
from engine_adapter.types import Event, Failed, Finished, Reasoning, Text, ToolCallPiece, Usage
from tests.unit.engine_remote.test_openai_answer import merged


def line(done: bool = False, more: dict[str, object] | None = None, **message: object) -> bytes:
    head = {"model": "m", "created_at": "2026-11-30T00:00:00Z", "done": done}
    told = head | {"message": {"role": "assistant", **message}} | (more or {})
    return json.dumps(told, ensure_ascii=False).encode() + b"\n"


def events(*chunks: bytes) -> list[Event]:
    answer = OllamaAnswer()
    read: list[Event] = []
    for chunk in chunks:
        read += answer.feed(chunk)
    return [*read, *answer.end()]


COUNTS = {"done_reason": "stop", "prompt_eval_count": 26, "eval_count": 3, "total_duration": 5}
END = line(True, COUNTS, content="")


def test_an_answer_at_every_split() -> None:
    stream = line(content="", thinking="Hm") + line(content="I’m 🌊") + line(content="\u2028") + END
    expected = events(stream)
    assert expected == [
        Reasoning("Hm"),
        Text("I’m 🌊"),
        Text("\u2028"),
        Finished("stop", Usage(26, 3)),
    ]
    for at in range(len(stream) + 1):
        assert events(stream[:at], stream[at:]) == expected, at
    assert events(*(stream[at : at + 1] for at in range(len(stream)))) == expected
    assert events(stream.replace(b"\n", b"\r\n")) == expected
    assert events(stream.rstrip()) == expected


def test_thoughts_between_tags_are_told_apart_in_old_models() -> None:
    given = events(line(content="<thi"), line(content="nk>a</think>b"), END)
    assert merged(given)[:-1] == [Reasoning("a"), Text("b")]
    apart = events(line(content="", thinking="a"), line(content="<think> is a tag"), END)
    assert apart[:-1] == [Reasoning("a"), Text("<think> is a tag")]


def call(name: str, **arguments: object) -> dict[str, object]:
    return {"function": {"name": name, "arguments": arguments}}


def test_calls_come_whole_and_several() -> None:
    both = [call("find", word="x"), call("find", word="y")]
    given = events(line(content="", tool_calls=both), line(tool_calls=[call("stop")]), END)
    assert given[:-1] == [
        ToolCallPiece(0, '{"word": "x"}', "call_0", "find"),
        ToolCallPiece(1, '{"word": "y"}', "call_1", "find"),
        ToolCallPiece(2, "{}", "call_2", "stop"),
    ]
    assert given[-1] == Finished("tool_calls", Usage(26, 3))


@pytest.mark.parametrize(
    ("told", "reason"), [("stop", "stop"), ("length", "length"), ("unload", "other")]
)
def test_ends(told: str, reason: str) -> None:
    given = events(line(content="a"), line(True, {"done_reason": told}))
    assert given[-1] == Finished(reason)  # type: ignore[arg-type]  # a known reason


def test_a_count_of_zero_is_left_out() -> None:
    given = events(line(True, {"done_reason": "stop", "eval_count": 2}))
    assert given[-1] == Finished("stop", Usage(0, 2))


def test_an_end_without_a_reason_and_none_at_all_are_failures() -> None:
    for stream in ([line(content="a"), line(True)], [line(content="a")], []):
        end = events(*stream)[-1]
        assert isinstance(end, Failed)
        assert isinstance(end.error, Broken)


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        ("the input length exceeds the context length", ContextTooLong),
        ("an error was encountered while running the model", Broken),
    ],
)
def test_an_error_in_a_line(error: str, kind: type[Exception]) -> None:
    told = json.dumps({"error": error}).encode() + b"\n"
    (end,) = events(told)
    assert isinstance(end, Failed)
    assert type(end.error) is kind
    text, end = events(line(content="a"), told, END)
    assert text == Text("a")
    assert isinstance(end, Failed)
    assert type(end.error) is Broken


@pytest.mark.parametrize(
    "nonsense",
    [
        b"{\n",
        b"[1]\n",
        b"[" * 100_000 + b"\n",
        line(content=["secret words"]),
        line(tool_calls={"secret": "words"}),
        line(tool_calls=["secret words"]),
        line(more={"remote_host": "https://secret.example"}, content="x"),
        b"x" * (1 << 20) + b"x",
    ],
)
def test_nonsense_is_a_failure_that_keeps_the_text(nonsense: bytes) -> None:
    text, end = events(line(content="secret"), nonsense, END)
    assert text == Text("secret")
    assert isinstance(end, Failed)
    assert isinstance(end.error, Broken)
    assert "secret" not in str(end.error)


def test_lines_are_cut_at_line_feeds_only_and_have_a_limit() -> None:
    lines = Lines(limit=10)
    assert lines.feed("a\u2028b\r\n\n".encode()) == ["a\u2028b".encode()]
    assert lines.feed(b"12345") == []
    assert lines.feed(b"6789\nx") == [b"123456789"]
    assert lines.rest() == b"x"
    with pytest.raises(TooLong):
        lines.feed(b"1234567890")


def test_the_errors_that_come_before_a_stream() -> None:
    cases = {
        (404, b'{"error":"model \'x\' not found"}'): (Refused, "model"),
        (400, b'{"error":"\\"x\\" does not support thinking"}'): (Refused, None),
        (503, b'{"error":"server busy, please try again."}'): (Overloaded, None),
    }
    for (status, body), (kind, cause) in cases.items():
        error = faults.from_reply(status, {}, body)
        assert (type(error), error.cause) == (kind, cause)
