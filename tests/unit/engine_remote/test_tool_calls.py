"""Tool calls and log probabilities from engines of every habit, and what is sent to get them."""

from __future__ import annotations

from typing import Any

import pytest

from engine_adapter.errors import Broken, Refused
from engine_adapter.remote.answer import Answer
from engine_adapter.remote.payload import HOST_EXTRAS, payload
from engine_adapter.thinking import ThinkingTags
from engine_adapter.types import (
    Event,
    Failed,
    Finished,
    FinishReason,
    Reasoning,
    Request,
    Sampling,
    Text,
    TokenLogprob,
    Tool,
    ToolCall,
    ToolCallPiece,
    Turn,
    Usage,
)
from tests.unit.engine_remote.replay import GOLDEN
from tests.unit.engine_remote.test_openai_answer import DONE, delta, events, frame

END = delta("tool_calls")


def called(*calls: object, **more: object) -> bytes:
    return delta(tool_calls=list(calls), **more)


def call(name: str | None = None, arguments: Any = None, **more: Any) -> dict[str, Any]:
    function = {"name": name, "arguments": arguments}
    return {**more, "function": {k: v for k, v in function.items() if v is not None}}


HABITS: dict[str, tuple[list[bytes], list[Event]]] = {
    "as OpenAI has it": (
        [
            called(call("look", "", index=0, id="c1", type="function"), content=None),
            called(call(None, '{"a"', index=0)),
            called(call(None, ":1}", index=0)),
            called(call("go", "{}", index=1, id="c2", type="function")),
        ],
        [
            ToolCallPiece(0, "", "c1", "look"),
            ToolCallPiece(0, '{"a"'),
            ToolCallPiece(0, ":1}"),
            ToolCallPiece(1, "{}", "c2", "go"),
        ],
    ),
    "name and id in every piece": (
        [called(call("look", "{", index=0, id="c")), called(call("look", "}", index=0, id="c"))],
        [ToolCallPiece(0, "{", "c", "look"), ToolCallPiece(0, "}")],
    ),
    "no numbers": (
        [
            called(call("look", "{", id="c1")),
            called(call(None, "}")),
            called(call("go", "{}", id="c2"), call("see", "[]", id="c3")),
        ],
        [
            ToolCallPiece(0, "{", "c1", "look"),
            ToolCallPiece(0, "}"),
            ToolCallPiece(1, "{}", "c2", "go"),
            ToolCallPiece(2, "[]", "c3", "see"),
        ],
    ),
    "numbers that begin at seven, no id, an object": (
        [called(call("look", {"a": 1}, index=7)), called(call("go", None, index=9))],
        [ToolCallPiece(0, '{"a": 1}', "call_0", "look"), ToolCallPiece(1, "", "call_1", "go")],
    ),
    "text before, and half a tag": (
        [delta(content="<thi"), called(call("look", "{}", index=0, id="c"))],
        [Text("<thi"), ToolCallPiece(0, "{}", "c", "look")],
    ),
    "half a character": (
        [called(call("look", '{"a":"\ud83c"}', index=0, id="c"))],
        [ToolCallPiece(0, '{"a":"\ufffd"}', "c", "look")],
    ),
    "none": ([delta(content="a", tool_calls=[]), delta(tool_calls=None)], [Text("a")]),
}


@pytest.mark.parametrize("habit", HABITS)
def test_habits(habit: str) -> None:
    frames, expected = HABITS[habit]
    assert events(*frames, END, DONE) == [*expected, Finished("tool_calls")]


@pytest.mark.parametrize(
    "nonsense",
    [
        {"a": 1}, "look", ["look"], [{"index": 0}], [{"index": 0, "function": "look"}],
        [call(None, "{}", index=0)], [call("", "{}", index=0)], [call("look", 3, index=0)],
    ],
)  # fmt: skip
def test_calls_that_are_none_end_the_answer(nonsense: object) -> None:
    text, end = events(delta(content="a"), delta(tool_calls=nonsense), END, DONE)
    assert text == Text("a")
    assert isinstance(end, Failed)
    assert isinstance(end.error, Broken)


def token(text: str, logprob: object = -1.5, **more: object) -> dict[str, object]:
    return {"token": text, "logprob": logprob, **more}


def drawn(content: str, *tokens: object) -> bytes:
    choice = {"index": 0, "delta": {"content": content}, "logprobs": {"content": list(tokens)}}
    return frame({"choices": [choice]})


def test_log_probabilities_come_with_the_text_they_are_of() -> None:
    half = TokenLogprob(b"\xc4", -1.5, ((b"a", -2.0),))
    told = [
        drawn("", token("\ufffd", bytes=[0xC4], top_logprobs=[token("a", -2), {"token": 3}])),
        drawn("ı", token("?", bytes=[0xB1, 3000])),
        drawn("x", token("x", "high"), token(3), 7, token("x", None)),
        delta(content="y"),
    ]
    assert events(*told, delta("stop"), DONE) == [
        Text("ı", (half, TokenLogprob(b"?", -1.5))),
        Text("x"),
        Text("y"),
        Finished("stop"),
    ]


def test_log_probabilities_wait_for_text_behind_a_thought() -> None:
    answer = Answer(ThinkingTags())
    stream = [drawn("<think>", token("a")), drawn("b</think>c", token("b")), delta("stop")]
    read = [event for chunk in stream for event in answer.feed(chunk)]
    told = (TokenLogprob(b"a", -1.5), TokenLogprob(b"b", -1.5))
    assert read == [Reasoning("b"), Text("c", told)]


ASK = Request(
    model="m",
    turns=(
        Turn("user", "hi"),
        Turn("assistant", "", (ToolCall("c1", "look", '{"a":1}'),)),
        Turn("tool", "seen", (), "c1"),
    ),
    sampling=Sampling(
        presence_penalty=0.5,
        frequency_penalty=-0.5,
        logit_bias=((5, -100.0),),
        logprobs=0,
        json_schema='{"type":"object"}',
        typical_p=0.5,
    ),
    tools=(Tool("look", "Looks.", '{"type":"object"}'),),
    tool_choice="required",
    tool_name="look",
    user="somebody",
    public_turns=1,
    deadline_s=5.0,
)


def test_openais_own_fields_are_sent_to_everybody() -> None:
    sent = payload(ASK, frozenset())
    function = {"name": "look", "arguments": '{"a":1}'}
    assert sent["messages"][1:] == [
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [{"id": "c1", "type": "function", "function": function}],
        },
        {"role": "tool", "content": "seen", "tool_call_id": "c1"},
    ]
    described = {"name": "look", "description": "Looks.", "parameters": {"type": "object"}}
    assert sent["tools"] == [{"type": "function", "function": described}]
    assert sent["tool_choice"] == {"type": "function", "function": {"name": "look"}}
    schema = {"name": "answer", "schema": {"type": "object"}}
    assert sent["response_format"] == {"type": "json_schema", "json_schema": schema}
    assert (sent["presence_penalty"], sent["frequency_penalty"]) == (0.5, -0.5)
    assert (sent["logit_bias"], sent["logprobs"]) == ({"5": -100.0}, True)
    assert not HOST_EXTRAS & set(sent)


def test_our_own_fields_are_sent_where_they_may_be() -> None:
    sent = payload(ASK, frozenset({"user", "public_turns"}))
    assert (sent["user"], sent["public_turns"]) == ("somebody", 1)
    assert "deadline_s" not in sent
    assert payload(ASK, HOST_EXTRAS)["deadline_s"] == 5.0


@pytest.mark.parametrize(
    "request_",
    [
        Request("m", ASK.turns[:1], Sampling(grammar="root ::= x")),
        Request("m", ASK.turns[:1], Sampling(json_schema="{")),
        Request("m", ASK.turns[:1], tools=(Tool("look", parameters="["),)),
    ],
)
def test_what_cannot_be_sent_as_meant_is_refused(request_: Request) -> None:
    with pytest.raises(Refused):
        payload(request_, frozenset())


@pytest.mark.parametrize(("told", "end"), [("stop", "tool_calls"), ("length", "length")])
def test_an_end_that_does_not_speak_of_the_calls_is_theirs_all_the_same(
    told: str, end: FinishReason
) -> None:
    call = {"index": 0, "id": "c", "function": {"name": "f", "arguments": "{}"}}
    answer = Answer(None, calls_tell=True)
    list(answer.feed(delta(tool_calls=[call]) + delta(told) + DONE))
    assert list(answer.end()) == [Finished(end)]


@pytest.mark.parametrize(
    ("engine", "end"),
    [("vllm_cpu", Finished("tool_calls", Usage(34, 52))), ("sglang_cpu", Finished("length"))],
)
def test_recorded_calls(engine: str, end: Finished) -> None:
    # vLLM tells usage with every frame here, SGLang names a call's fields null after the first.
    recorded = (GOLDEN / engine / "chat_tools_required.body").read_bytes()
    first, *pieces, last = events(recorded)
    assert isinstance(first, ToolCallPiece)
    assert (first.index, first.name, bool(first.id)) == (0, "get_weather", True)
    assert all(isinstance(p, ToolCallPiece) and p.id is None and p.arguments for p in pieces)
    assert last == end
