"""What a request body means, and what is refused instead of being guessed."""

from __future__ import annotations

import json
from typing import Any

import pytest

from engine_adapter.bundled.dialect import listing
from engine_adapter.bundled.dialect.asked import parse
from engine_adapter.bundled.dialect.fields import BadRequest
from engine_adapter.errors import Broken, ContextTooLong, Overloaded, Refused, Unreachable
from engine_adapter.types import Request, Sampling, Turn

HELLO: dict[str, Any] = {"model": "m", "messages": [{"role": "user", "content": "hi"}]}


def body(**more: Any) -> bytes:
    return json.dumps({**HELLO, **more}).encode()


def test_the_least_and_the_most_that_can_be_asked() -> None:
    least = parse(body())
    assert least.request == Request("m", (Turn("user", "hi"),))
    assert not (least.stream or least.include_usage or least.return_progress)
    most = parse(
        body(
            messages=[
                {"role": "developer", "content": "be brief"},
                {"role": "user", "content": [{"type": "text", "text": t} for t in "hi"]},
                {"role": "assistant", "content": "Well"},
            ],
            stream=True, stream_options={"include_usage": True}, return_progress=True,
            temperature=0, top_p=0.5, top_k=-1, min_p=0.1, seed=-(2**63), max_tokens=5,
            max_completion_tokens=6, stop="x", priority=-3, cache_salt="s",
            continue_final_message=True, add_generation_prompt=False,
            n=1, tools=[], response_format={"type": "text"}, presence_penalty=0.0, user="u",
            parallel_tool_calls=True, functions=[], modalities=["text"], logit_bias={},
        )
    )  # fmt: skip
    assert most.stream and most.include_usage and most.return_progress
    assert most.request == Request(
        "m",
        (Turn("system", "be brief"), Turn("user", "hi"), Turn("assistant", "Well")),
        Sampling(
            temperature=0.0, top_p=0.5, top_k=-1, min_p=0.1, presence_penalty=0.0,
            seed=-(2**63), max_tokens=6, stop=("x",),
        ),
        continue_final=True,
        priority=-3,
        cache_salt="s",
        user="u",
    )  # fmt: skip


def test_half_a_character_becomes_a_replacement() -> None:
    request = parse(body(messages=[{"role": "user", "content": "a\ud83c"}])).request
    assert request.turns[0].content == "a\ufffd"
    whole = parse(body(messages=[{"role": "user", "content": "🌊"}])).request
    assert whole.turns[0].content == "🌊"


@pytest.mark.parametrize(
    ("wrong", "param"),
    [
        ({"model": None}, "model"),
        ({"model": 3}, "model"),
        ({"messages": None}, "messages"),
        ({"messages": []}, "messages"),
        ({"messages": "hi"}, "messages"),
        ({"messages": ["hi"]}, "messages[0]"),
        ({"messages": [{"content": "hi"}]}, "messages[0].role"),
        ({"messages": [{"role": "poet", "content": "hi"}]}, "messages[0].role"),
        ({"messages": [{"role": ["user"], "content": "hi"}]}, "messages[0].role"),
        ({"messages": [{"role": "user", "content": None}]}, "messages[0].content"),
        ({"messages": [{"role": "user", "content": 3}]}, "messages[0].content"),
        (
            {"messages": [{"role": "user", "content": [{"type": "image_url", "image_url": {}}]}]},
            "messages[0].content",
        ),
        ({"messages": [{"role": "user", "content": [{"type": "text"}]}]}, "messages[0].content"),
        ({"temperature": -0.1}, "temperature"),
        ({"temperature": 2.1}, "temperature"),
        ({"temperature": "1"}, "temperature"),
        ({"temperature": True}, "temperature"),
        ({"top_p": 1.1}, "top_p"),
        ({"top_k": -2}, "top_k"),
        ({"top_k": 1.5}, "top_k"),
        ({"min_p": -1}, "min_p"),
        ({"seed": 2**63}, "seed"),
        ({"max_tokens": 0}, "max_tokens"),
        ({"max_completion_tokens": True}, "max_completion_tokens"),
        ({"stop": ""}, "stop"),
        ({"stop": ["x"] * 17}, "stop"),
        ({"stop": ["x" * 257]}, "stop"),
        ({"stop": [1]}, "stop"),
        ({"stop": {"a": 1}}, "stop"),
        ({"priority": "high"}, "priority"),
        ({"cache_salt": 3}, "cache_salt"),
        ({"stream": "yes"}, "stream"),
        ({"stream_options": {"include_usage": 1}}, "stream_options.include_usage"),
        ({"continue_final_message": True}, "messages"),
        ({"continue_final_message": True, "add_generation_prompt": True}, "add_generation_prompt"),
        ({"add_generation_prompt": False}, "add_generation_prompt"),
        ({"functions": [{}]}, "functions"),
        ({"parallel_tool_calls": False}, "parallel_tool_calls"),
        ({"audio": {"voice": "x"}}, "audio"),
        ({"modalities": ["audio"]}, "modalities"),
        ({"min_tokens": False}, "min_tokens"),
    ],
)
def test_what_is_wrong_is_refused_where_it_stands(wrong: dict[str, Any], param: str) -> None:
    with pytest.raises(BadRequest) as refusal:
        parse(body(**wrong))
    assert refusal.value.param == param


@pytest.mark.parametrize(
    "raw",
    [
        b"", b"{", b"[]", b"3", b"null", b"\xff\xfe\x00", b'{"model": "m", "temperature": NaN}',
        b'{"temperature": Infinity}', b'{"a":' * 100_000, b"[" * 100_000,
        b'{"stream_options": []}', b'{"seed": ' + b"9" * 5000 + b"}",
        json.dumps({**HELLO, "stream_options": 3}).encode(),
        b'{"model": "m", "temperature": 1e999, "messages": [{"role": "user", "content": "x"}]}',
    ],
)  # fmt: skip
def test_what_is_no_request_is_refused(raw: bytes) -> None:
    with pytest.raises(BadRequest):
        parse(raw)


def test_every_failure_has_its_status_and_shape() -> None:
    long = ContextTooLong("long", prompt_tokens=9, context_length=8)
    for error, status in (
        (long, 400), (Refused("no"), 400), (Overloaded("full"), 429),
        (Unreachable("away"), 503), (Broken("oh"), 500),
    ):  # fmt: skip
        told, shape = listing.failure(error)
        assert told == status
        assert shape["error"]["message"] == str(error)
        assert shape["error"]["code"] == error.code
        assert shape["error"]["type"].endswith("_error")
    assert listing.failure(long)[1]["error"]["n_prompt_tokens"] == 9
    assert listing.failure(long)[1]["error"]["n_ctx"] == 8
