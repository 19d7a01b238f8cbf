"""Tools, forms, penalties, biases: what is read of them, and where they are refused."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from engine_adapter.bundled.dialect.asked import Asked, parse, parse_embeddings
from engine_adapter.bundled.dialect.fields import BadRequest
from engine_adapter.remote.payload import HOST_EXTRAS, payload
from engine_adapter.types import Request, Tool, ToolCall, Turn
from tests.unit.engine.requests import requests

HELLO: dict[str, Any] = {"model": "m", "messages": [{"role": "user", "content": "hi"}]}
LOOK = {"type": "function", "function": {"name": "look", "parameters": {"type": "object"}}}


def asked(**more: Any) -> Asked:
    return parse(json.dumps({**HELLO, **more}).encode())


@given(requests())
def test_what_our_client_sends_is_what_our_server_reads(request: Request) -> None:
    body = json.dumps(payload(request, HOST_EXTRAS), ensure_ascii=False).encode()
    assert parse(body).request == request


def test_tools_and_calls_are_read() -> None:
    call = {"id": "c1", "type": "function", "function": {"name": "look", "arguments": "{}"}}
    request = asked(
        tools=[LOOK, {"type": "function", "function": {"name": "go", "description": "Goes."}}],
        tool_choice={"type": "function", "function": {"name": "go"}},
        messages=[
            {"role": "user", "content": "hi"},
            {"role": "assistant", "content": None, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": "c1", "content": [{"type": "text", "text": "seen"}]},
        ],
    ).request
    assert request.tools == (Tool("look", "", '{"type":"object"}'), Tool("go", "Goes.", "{}"))
    assert (request.tool_choice, request.tool_name) == ("required", "go")
    assert request.turns == (
        Turn("user", "hi"),
        Turn("assistant", "", (ToolCall("c1", "look", "{}"),)),
        Turn("tool", "seen", (), "c1"),
    )
    for choice in ("auto", "none", "required"):
        assert asked(tools=[LOOK], tool_choice=choice).request.tool_choice == choice


def test_an_answers_form_is_read() -> None:
    def form(**value: Any) -> str | None:
        return asked(response_format=value).request.sampling.json_schema

    schema = {"type": "object", "properties": {"ı": {"type": "string"}}}
    text = '{"type":"object","properties":{"ı":{"type":"string"}}}'
    assert form(type="text") is None
    assert form(type="json_object") == '{"type":"object"}'
    assert form(type="json_object", schema=schema) == text
    assert form(type="json_schema", json_schema={"name": "n", "schema": schema}) == text
    assert asked(grammar='root ::= "a"').request.sampling.grammar == 'root ::= "a"'
    assert asked(grammar="").request.sampling.grammar is None


def test_the_rest_is_read() -> None:
    sampling = asked(
        repeat_penalty=1.2, logit_bias={"0": -100, "70000": 1}, logprobs=True, top_logprobs=3
    ).request.sampling
    assert sampling.repetition_penalty == 1.2
    assert sampling.logit_bias == ((0, -100.0), (70000, 1.0))
    assert sampling.logprobs == 3
    assert asked(logprobs=True).request.sampling.logprobs == 0
    assert asked(repetition_penalty=1, repeat_penalty=2).request.sampling.repetition_penalty == 1


def test_each_of_several_answers_has_its_own_seed() -> None:
    largest = (1 << 63) - 1
    seeds = [one.sampling.seed for one in asked(n=3, seed=largest).requests()]
    assert seeds == [largest, -(1 << 63), -(1 << 63) + 1]
    assert [one.sampling.seed for one in asked(n=2).requests()] == [None, None]
    assert asked(n=16).choices == 16


def deep(levels: int) -> Any:
    value: Any = {}
    for _ in range(levels - 1):
        value = {"a": value}
    return value


def schema(value: Any) -> dict[str, Any]:
    return {
        "response_format": {"type": "json_schema", "json_schema": {"name": "n", "schema": value}}
    }


def test_a_schema_has_its_bounds() -> None:
    assert asked(**schema(deep(64))).request.sampling.json_schema
    for bomb in (deep(65), deep(400), {"a": "x" * (64 << 10)}, {"a": ["ı"] * 20_000}):
        with pytest.raises(BadRequest) as refusal:
            asked(**schema(bomb))
        assert refusal.value.param == "response_format.json_schema.schema"


def call(**more: Any) -> dict[str, Any]:
    value = {"id": "c", "type": "function", "function": {"name": "n", "arguments": "{}"}, **more}
    return {"messages": [{"role": "assistant", "tool_calls": [value]}]}


def tool(**more: Any) -> dict[str, Any]:
    return {"tools": [{"type": "function", "function": {"name": "look", **more}}]}


CALLED = "messages[0].tool_calls[0]"
WRONG: list[tuple[dict[str, Any], str]] = [
    *(({name: value}, name) for name, value in (
        ("typical_p", 1.1), ("typical_p", -0.1), ("repetition_penalty", 0),
        ("repetition_penalty", -1), ("repeat_penalty", 10.1), ("presence_penalty", 2.1),
        ("presence_penalty", "1"), ("frequency_penalty", -2.1), ("dry_multiplier", -1),
        ("dry_base", 0.5), ("dry_allowed_length", -1), ("dry_allowed_length", 1.5),
        ("n", 0), ("n", 17), ("n", True), ("n", 1.0), ("ignore_eos", 1), ("seed", 1.5),
        ("logprobs", 3), ("top_logprobs", 3), ("deadline_s", 0), ("deadline_s", -1),
        ("deadline_s", 1e9), ("public_turns", 2), ("public_turns", -1), ("user", 3),
        ("cache_salt", ""), ("cache_salt", "x" * 257), ("user", "x" * 513),
        ("priority", 1.5), ("grammar", 3), ("grammar", "ı" * (33 << 10)),
        ("logit_bias", []), ("logit_bias", {"-1": 1}), ("logit_bias", {"1.0": 1}),
        ("logit_bias", {"²": 1}), ("logit_bias", {"01": 1}), ("logit_bias", {"9" * 5000: 1}),
        ("logit_bias", {str(1 << 31): 1}), ("logit_bias", {"1": 101}), ("logit_bias", {"1": True}),
        ("logit_bias", {"1": 10**400}), ("logit_bias", {str(n): 1 for n in range(1025)}),
        ("temperature", 10**400), ("response_format", 3), ("tools", {}), ("tools", [LOOK] * 129),
        ("tool_choice", "required"), ("tool_choice", 3), ("tool_choice", "any"),
    )),
    ({"logprobs": True, "top_logprobs": 21}, "top_logprobs"),
    ({"response_format": {"type": "xml"}}, "response_format.type"),
    ({"response_format": {"type": ["text"]}}, "response_format.type"),
    ({"response_format": {"type": "json_schema"}}, "response_format.json_schema"),
    ({"response_format": {"type": "json_object", "schema": 1}}, "response_format.schema"),
    ({"response_format": {"type": "json_schema", "json_schema": {"schema": {}}}},
     "response_format.json_schema.name"),
    (schema(None), "response_format.json_schema.schema"),
    (schema([]), "response_format.json_schema.schema"),
    ({**schema({}), "grammar": "root ::= x"}, "grammar"),
    ({"tools": [3]}, "tools[0]"),
    ({"tools": [{"type": "web_search"}]}, "tools[0].type"),
    ({"tools": [{"type": "function"}]}, "tools[0].function"),
    (tool(name=""), "tools[0].function.name"),
    (tool(name="a b"), "tools[0].function.name"),
    (tool(name="x" * 65), "tools[0].function.name"),
    (tool(description=3), "tools[0].function.description"),
    (tool(description="x" * 20_000), "tools[0].function.description"),
    (tool(parameters=[]), "tools[0].function.parameters"),
    (tool(parameters=deep(65)), "tools[0].function.parameters"),
    ({"tools": [LOOK, LOOK]}, "tools[1].function.name"),
    ({"tools": [LOOK], "tool_choice": {"type": "function", "function": {"name": "x"}}},
     "tool_choice.function.name"),
    ({"tools": [LOOK], "tool_choice": {"type": "function"}}, "tool_choice.function"),
    (call(id=None), f"{CALLED}.id"),
    (call(type="custom"), f"{CALLED}.type"),
    (call(function=None), f"{CALLED}.function"),
    (call(function={"name": "n"}), f"{CALLED}.function.arguments"),
    (call(function={"name": "n", "arguments": {}}), f"{CALLED}.function.arguments"),
    (call(function={"arguments": "{}"}), f"{CALLED}.function.name"),
    ({"messages": [{**call()["messages"][0], "role": "user"}]},
     "messages[0].tool_calls"),
    ({"messages": [{"role": "tool", "content": "x"}]}, "messages[0].tool_call_id"),
    ({"messages": [{"role": "assistant", "tool_calls": []}]}, "messages[0].content"),
    ({**call(), "continue_final_message": True}, "messages"),
]  # fmt: skip


@pytest.mark.parametrize(("wrong", "param"), WRONG)
def test_what_is_wrong_is_refused_where_it_stands(wrong: dict[str, Any], param: str) -> None:
    with pytest.raises(BadRequest) as refusal:
        asked(**wrong)
    assert refusal.value.param == param
    assert param in str(refusal.value) or param.startswith("messages")


FIELDS = [
    *HOST_EXTRAS, "messages", "model", "tools", "tool_choice", "response_format", "logit_bias",
    "logprobs", "top_logprobs", "n", "stop", "seed", "stream", "stream_options", "functions",
    "temperature", "presence_penalty", "max_tokens", "max_completion_tokens", "repeat_penalty",
]  # fmt: skip
scalars = (
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False)
)
words = st.sampled_from(
    ["type", "function", "name", "json_schema", "schema", "tool_calls", "role", "content", "1"]
)
values = st.recursive(
    scalars | st.text(max_size=5) | words,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(words | st.text(max_size=3), inner),
    max_leaves=12,
)


@given(st.dictionaries(st.sampled_from(FIELDS), values, min_size=1, max_size=4))
@example({"temperature": 10**400})
def test_any_value_anywhere_is_read_or_refused(wild: dict[str, Any]) -> None:
    try:
        assert isinstance(asked(**wild), Asked)
    except BadRequest as refusal:
        assert str(refusal)


def vectors(**more: Any) -> Any:
    return parse_embeddings(json.dumps({"model": "m", "input": "hi", **more}).encode())


def test_texts_to_become_vectors_are_read() -> None:
    assert vectors().texts == ("hi",)
    assert not vectors(encoding_format="float").base64
    assert vectors(input=["a", "b\ud800"], encoding_format="base64").texts == ("a", "b\ufffd")
    assert vectors(input=["a"] * 2048, encoding_format="base64").base64


@pytest.mark.parametrize(
    ("name", "wrong"),
    [
        *(("input", value) for value in (None, "", [], 3, [1, 2], ["a", ""], ["a"] * 2049)),
        *(("model", value) for value in (None, "", 3)),
        *(("encoding_format", value) for value in ("int8", 3)),
        ("dimensions", 256),
    ],
)
def test_texts_that_cannot_become_vectors_are_refused(name: str, wrong: Any) -> None:
    with pytest.raises(BadRequest) as refusal:
        vectors(**{name: wrong})
    assert refusal.value.param == name
