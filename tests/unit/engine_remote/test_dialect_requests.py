"""What each dialect sends: the fields and headers its engine knows, and no other."""

from __future__ import annotations

import asyncio
from typing import Any, get_args

import pytest

from engine_adapter.errors import Refused
from engine_adapter.remote.kinds import ADAPTERS, Kind
from engine_adapter.remote.llmd import BACKGROUND, URGENT
from engine_adapter.remote.openai import OpenAIEngine
from engine_adapter.types import (
    Failed,
    Finished,
    Reasoning,
    Request,
    Sampling,
    Text,
    Tool,
    ToolCall,
    Turn,
)
from tests.conformance.server import of
from tests.unit.engine_remote.imitated import ASK, HELLO, pair
from tests.unit.engine_remote.replay import plain, serve, stream

ALL: tuple[Kind, ...] = get_args(Kind)
SALTED = ("vllm", "sglang", "trtllm", "llmd")
FULL = Request(
    model="scripted",
    turns=ASK.turns,
    sampling=Sampling(top_k=40, min_p=0.1, repetition_penalty=1.1, max_tokens=9),
    priority=10,
    cache_salt="ab12",
    public_turns=1,
    user="u1",
    deadline_s=60,
)


def test_every_kind_has_its_adapter_and_its_imitation() -> None:
    assert set(ADAPTERS) == set(ALL)


@pytest.mark.parametrize("kind", ALL)
async def test_every_kind_tells_reasoning_apart_and_hears_of_a_hang_up(kind: Kind) -> None:
    async with pair(kind) as it:
        *pieces, end = await it.ask()
        assert [type(piece) for piece in pieces] == [Reasoning, Reasoning, Text, Text]
        assert isinstance(end, Finished)
        assert end.reason == "stop"
        assert it.notes.hung_up == 0
    slow = type(HELLO)(pieces=("a",) * 50, pace=20)
    async with pair(kind, slow) as it:
        events = it.engine.stream(ASK)
        assert await anext(events) == Text("a")
        assert it.behind.running == 1
        await events.aclose()
        while not it.notes.hung_up:  # noqa: ASYNC110 -- the server has no event for it
            await asyncio.sleep(0.01)
        assert it.behind.cancelled == 1
        assert it.behind.running == 0


@pytest.mark.parametrize("kind", ALL)
async def test_a_cache_domain_is_told_where_there_are_some_and_nowhere_else(kind: Kind) -> None:
    async with pair(kind) as it:
        assert isinstance((await it.ask(FULL))[-1], Finished)
        body = it.asked()
        assert ("cache_salt" in body) is (kind in SALTED)
        assert not {"public_turns", "user", "deadline_s"} & set(body)
        assert "x-conversation-id" not in it.headers()


@pytest.mark.parametrize(
    ("kind", "urgent", "late"),
    [("vllm", -5, 10), ("llmd", -5, 10), ("sglang", 5, -10), ("trtllm", 0.6476, 0.25)],
)
async def test_priority_is_told_as_each_engine_counts(kind: Kind, urgent: Any, late: Any) -> None:
    async with pair(kind) as it:
        for priority, told in ((-5, urgent), (10, late), (0, None)):
            await it.ask(Request(model="scripted", turns=ASK.turns, priority=priority))
            assert it.asked().get("priority") == told


@pytest.mark.parametrize("kind", ["llamacpp", "ollama", "lmstudio", "openai"])
async def test_priority_is_told_to_nobody_else(kind: Kind) -> None:
    async with pair(kind) as it:
        await it.ask(FULL)
        assert "priority" not in str(it.asked())


async def test_sglang_is_asked_which_way_its_priorities_run(monkeypatch: Any) -> None:
    for settings, told in (
        ({"schedule_low_priority_values_first": True}, 10),
        ({"enable_priority_scheduling": False}, None),
        ({"error": "no such route"}, -10),
    ):
        async with pair("sglang") as it:
            routes = it.profile.routes()  # type: ignore[attr-defined]  # every profile of this dialect has them
            monkeypatch.setattr(
                it.profile, "routes", lambda r=routes, s=settings: {**r, "/server_info": of(s)}
            )
            await it.ask(FULL)
            assert it.asked().get("priority") == told, settings


async def test_a_server_that_refuses_a_priority_is_asked_without_from_then_on() -> None:
    hello = b'data: {"choices":[{"index":0,"delta":{"content":"a"},"finish_reason":"stop"}]}\n\n'
    no = plain("400 Bad Request", b'{"error": {"message": "priority is not supported"}}')

    def answers(nth: int) -> Any:
        return no if nth == 0 else stream(hello, b"data: [DONE]\n\n")

    async with serve(answers) as server:
        engine = ADAPTERS["vllm"](server.url)
        for _ in range(2):
            assert isinstance([e async for e in engine.stream(FULL)][-1], Finished)
        await engine.aclose()
    sent = [b'"priority"' in request for request in server.requests]
    assert sent == [True, False, False]
    # The domain of a cache is no such trifle: it is never left out.
    assert all(b'"cache_salt"' in request for request in server.requests)


@pytest.mark.parametrize("kind", ["llamacpp", "lmstudio"])
async def test_a_field_goes_by_the_name_the_engine_has_for_it(kind: Kind) -> None:
    async with pair(kind) as it:
        await it.ask(FULL)
        assert it.asked()["repeat_penalty"] == 1.1
        assert "repetition_penalty" not in it.asked()


async def test_llm_d_routes_by_headers() -> None:
    async with pair("llmd") as it:
        await it.ask(FULL)
        headers = it.headers()
        for by in ("llm-d", "gateway"):
            assert headers[f"x-{by}-inference-fairness-id"] == "u1"
            assert headers[f"x-{by}-inference-objective"] == BACKGROUND
        assert "x-session-token" not in headers
        first = headers["x-request-id"]
        await it.ask(Request(model="scripted", turns=FULL.turns, cache_salt="ab12", priority=-1))
        headers = it.headers()
        assert headers["x-session-token"] == "pod-1"
        assert headers["x-llm-d-inference-objective"] == URGENT
        assert headers["x-request-id"] != first
        other = (Turn("user", "Something else"),)
        await it.ask(Request(model="scripted", turns=other))
        assert not {"x-session-token", "x-llm-d-inference-fairness-id"} & set(it.headers())
        assert not [name for name in it.headers() if "objective" in name]


@pytest.mark.parametrize("kind", ["llamacpp", "sglang", "trtllm", "lmstudio", "ollama"])
async def test_a_name_the_engine_would_take_for_its_own_is_refused_here(kind: Kind) -> None:
    async with pair(kind) as it:
        (end,) = await it.ask(Request(model="none", turns=ASK.turns))
        assert isinstance(end, Failed)
        assert isinstance(end.error, Refused)
        assert end.error.cause == "model"
        assert it.behind.started == 0


async def test_a_model_of_ollamas_cloud_is_neither_shown_nor_asked() -> None:
    async with pair("ollama") as it:
        assert [card.name for card in await it.engine.models()] == ["scripted"]
        (end,) = await it.ask(Request(model="gpt-oss:120b-cloud", turns=ASK.turns))
        assert isinstance(end, Failed)
        assert isinstance(end.error, Refused)
        assert not [call for call in it.notes.calls if call.path == "/api/chat"]


TOOL = Tool("find", "Finds.", '{"type": "object"}')


async def test_ollama_gets_its_own_form_of_everything() -> None:
    call = ToolCall("c1", "find", '{"word": "x"}')
    nonsense = ToolCall("c2", "find", "not json")
    request = Request(
        model="scripted",
        turns=(
            *ASK.turns,
            Turn("assistant", "", tool_calls=(call, nonsense)),
            Turn("tool", "found", tool_call_id="c1"),
        ),
        sampling=Sampling(
            temperature=0.5, repetition_penalty=1.1, max_tokens=9, stop=("x",), json_schema="{}"
        ),
        tools=(TOOL,),
    )
    async with pair("ollama") as it:
        await it.ask(request)
        body = it.asked()
    assert body["options"] == {
        "temperature": 0.5,
        "repeat_penalty": 1.1,
        "num_predict": 9,
        "stop": ["x"],
    }
    assert body["format"] == {}
    assert body["tools"][0]["function"]["name"] == "find"
    assert (body["truncate"], body["shift"]) == (False, False)
    calls = [call["function"]["arguments"] for call in body["messages"][1]["tool_calls"]]
    assert calls == [{"word": "x"}, {"arguments": "not json"}]
    assert body["messages"][2]["tool_name"] == "find"
    assert "num_ctx" not in str(body)


@pytest.mark.parametrize(
    "how",
    [
        {"continue_final": True},
        {"sampling": Sampling(grammar="root ::= x")},
        {"tools": (TOOL,), "tool_choice": "required"},
    ],
)
async def test_ollama_is_not_asked_for_what_it_cannot_do(how: dict[str, Any]) -> None:
    async with pair("ollama") as it:
        (end,) = await it.ask(Request(model="scripted", turns=ASK.turns, **how))
        assert isinstance(end, Failed)
        assert type(end.error) is Refused
        await it.ask(Request(model="scripted", turns=ASK.turns, tools=(TOOL,), tool_choice="none"))
        assert "tools" not in it.asked()


async def test_what_is_known_of_one_engine_stays_with_it() -> None:
    assert OpenAIEngine.extras == frozenset()
    assert "cache_salt" not in ADAPTERS["llamacpp"].extras  # type: ignore[attr-defined]  # of its dialect
