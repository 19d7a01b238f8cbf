"""Imitated frames against the recorded ones: an imitation is trusted where it has the same form."""

from __future__ import annotations

import json
from typing import Any

import pytest

from engine_adapter.remote.kinds import Kind
from engine_adapter.script import Rule
from engine_adapter.scripted import ScriptedEngine
from engine_adapter.types import Request, Turn
from tests.conformance.server import Call, Reply, Stream
from tests.unit.engine_remote.imitated import pair
from tests.unit.engine_remote.replay import GOLDEN

RECORDED: dict[Kind, str] = {"llamacpp": "llamacpp", "vllm": "vllm_cpu", "sglang": "sglang_cpu"}
BODY = {
    "model": "scripted",
    "messages": [{"role": "user", "content": "Hi"}],
    "stream_options": {"include_usage": True},
}


def form(value: Any) -> Any:
    """What kinds of values stand where: names, nesting, and the types of what is not null."""
    if isinstance(value, dict):
        return {name: form(inner) for name, inner in sorted(value.items())}
    if isinstance(value, list):
        return [form(inner) for inner in value]
    return "number" if isinstance(value, int | float) else type(value).__name__


def frames(stream: bytes) -> list[Any]:
    rows = [row[6:] for row in stream.decode().split("\n") if row.startswith("data: {")]
    return [form(json.loads(row)) for row in rows]


@pytest.mark.parametrize("kind", RECORDED)
async def test_an_imitated_stream_has_the_form_of_the_recorded_one(kind: Kind) -> None:
    recorded = (GOLDEN / RECORDED[kind] / "chat_stream_usage.body").read_bytes()
    async with pair(kind, Rule(pieces=tuple("12345678"))) as it:
        reply = await it.profile.reply(Call("POST", "/v1/chat/completions", {}, BODY))
        assert isinstance(reply, Stream)
        played = b"".join([piece async for piece in reply.pieces])
    theirs, ours = frames(recorded), frames(played)
    assert [*ours[:2], *ours[-2:]] == [*theirs[:2], *theirs[-2:]]
    assert played.endswith(b"data: [DONE]\n\n")
    assert recorded.rstrip().endswith(b"data: [DONE]")


@pytest.mark.parametrize("kind", RECORDED)
async def test_an_imitated_refusal_has_the_form_of_the_recorded_one(kind: Kind) -> None:
    recorded = json.loads((GOLDEN / RECORDED[kind] / "overflow_stream.body").read_bytes())
    long = BODY | {"messages": [{"role": "user", "content": "word " * 600}]}
    async with pair(kind) as it:
        reply = await it.profile.reply(Call("POST", "/v1/chat/completions", {}, long))
    assert isinstance(reply, Reply)
    assert reply.status == 400
    assert form(json.loads(reply.body)) == form(recorded)


async def test_the_engine_behind_an_imitation_is_a_real_one() -> None:
    async with pair("vllm") as it:
        assert isinstance(it.behind, ScriptedEngine)
        await it.ask(Request(model="scripted", turns=(Turn("user", "Hi"),)))
        assert it.behind.started == 1
