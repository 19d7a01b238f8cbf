"""What engines tell about their models, and what of it is believed."""

from __future__ import annotations

import json
from typing import Any

import pytest

from engine_adapter.engine import Loader, Puller
from engine_adapter.errors import Broken, EngineError
from engine_adapter.remote import cards
from engine_adapter.remote.kinds import ADAPTERS, Kind, open_engine
from engine_adapter.types import Gauges, ModelCard, Pulled
from tests.conformance.ollama import Ollama
from tests.conformance.server import Call, Reply, Stream, of, serving
from tests.unit.engine_remote.imitated import pair
from tests.unit.engine_remote.replay import golden, plain, serve

Json = dict[str, Any]


class Routes:
    """Answers with what stands at each route; what is posted is noted."""

    def __init__(self, routes: Json) -> None:
        self.routes = routes
        self.posted: list[tuple[str, Any]] = []

    async def reply(self, call: Call) -> Reply | Stream:
        if call.method == "POST":
            self.posted.append((call.path, call.body))
        return of(self.routes[call.path]) if call.path in self.routes else of({}, 404)


async def listed(kind: Kind, routes: Json) -> list[ModelCard]:
    async with serving(Routes(routes)) as notes:
        engine = open_engine(kind, notes.url)
        found = list(await engine.models())
        await engine.aclose()
    return found


KNOWN: dict[Kind, ModelCard] = {
    "llamacpp": ModelCard(
        "scripted", 512, 9, "Q4_1", continues=True, state="loaded", vision=False, tools=True
    ),
    "ollama": ModelCard(
        "scripted", 512, 9, "Q4_1", state="loaded", vision=False, tools=True, reasoning=True
    ),
    "lmstudio": ModelCard("scripted", 512, 9, "Q4_K_M", state="loaded", vision=False, tools=True),
    "vllm": ModelCard("scripted", 512, continues=True),
    "sglang": ModelCard("scripted", 512, continues=True, vision=False, tools=True, reasoning=False),
    "trtllm": ModelCard("scripted"),
    "llmd": ModelCard("scripted", 512, continues=True),
    "openai": ModelCard("scripted"),
}


@pytest.mark.parametrize("kind", ADAPTERS)
async def test_a_card_says_what_the_engine_tells(kind: Kind) -> None:
    async with pair(kind) as it:
        assert list(await it.engine.models()) == [KNOWN[kind]]


@pytest.mark.parametrize(
    ("kind", "name"), [("llamacpp", "llamacpp"), ("vllm", "vllm_cpu"), ("sglang", "sglang_cpu")]
)
async def test_recorded_lists(kind: Kind, name: str) -> None:
    async with serve(golden(name, "models")) as server:
        engine = open_engine(kind, server.url)
        (card,) = await engine.models()
        await engine.aclose()
    assert (card.name, card.context_length, card.continues) == ("smol", 1024, True)


async def test_a_router_of_llama_cpp_tells_states_and_only_what_is_loaded_is_asked() -> None:
    def row(name: str, **status: Any) -> Json:
        return {"id": name, "status": status}

    rows = [
        row("a", value="loaded"),
        row("b", value="unloaded"),
        row("c", value="loading"),
        row("d", value="unloaded", failed=True, exit_code=1),
        row("e", value="downloading"),
    ]
    props = {"modalities": {"vision": True}, "default_generation_settings": {"n_ctx": 4096}}
    found = await listed(
        "llamacpp", {"/v1/models": {"data": rows}, "/props?model=a&autoload=false": props}
    )
    states = [card.state for card in found]
    assert states == ["loaded", "available", "loading", "failed", "available"]
    assert (found[0].context_length, found[0].vision) == (4096, True)
    assert found[3].reason == "Its process ended with status 1."


async def test_a_router_of_llama_cpp_tells_the_gauges_of_all_it_has_loaded() -> None:
    rows = [{"id": name, "status": {"value": "loaded"}} for name in ("a", "b/c")]
    slots = [{"n_ctx": 100, "is_processing": True, "n_prompt_tokens": 50}, {"n_ctx": 100}]
    routes = {
        "/v1/models": {"data": rows},
        "/slots?model=a&autoload=false": slots,
        "/slots?model=b%2Fc&autoload=false": slots[1:],
    }
    async with serving(Routes(routes)) as notes:
        engine = open_engine("llamacpp", notes.url)
        assert await engine.gauges() == Gauges()
        await engine.models()
        told = await engine.gauges()
        await engine.aclose()
    assert told == Gauges(running=1, slots=3, kv_use=0.125)


async def test_lm_studio_before_its_newer_routes() -> None:
    rows = [
        {"id": "a", "type": "vlm", "state": "loaded", "loaded_context_length": 4096},
        {"id": "b", "type": "embeddings", "state": "not-loaded", "max_context_length": 2048},
    ]
    assert await listed("lmstudio", {"/api/v0/models": {"data": rows}}) == [
        ModelCard("a", 4096, state="loaded", vision=True),
        ModelCard("b", state="available", kind="embeddings"),
    ]
    assert await listed("lmstudio", {"/v1/models": {"data": [{"id": "a"}]}}) == [ModelCard("a")]


async def test_ollama_remembers_the_length_a_model_was_loaded_with() -> None:
    async with pair("ollama") as it:
        assert (await it.engine.models())[0].context_length == 512
        assert isinstance(it.profile, Ollama)
        it.profile.loaded = False
        (card,) = await it.engine.models()
        assert (card.context_length, card.state) == (512, "available")
        shown = [call for call in it.notes.calls if call.path == "/api/show"]
        assert len(shown) == 1


async def test_ollama_tells_a_length_that_is_set_and_models_for_vectors_only() -> None:
    routes: Json = {
        "/api/tags": {"models": [{"name": "a", "digest": "1" * 64}, {"name": None}, 7]},
        "/api/ps": {"models": None},
        "/api/show": {"parameters": "stop x\nnum_ctx   8192\n", "capabilities": ["embedding"]},
    }
    (card,) = await listed("ollama", routes)
    assert (card.context_length, card.kind, card.tools) == (8192, "embeddings", False)
    assert card.sha256 == "1" * 64
    assert await listed("ollama", routes | {"/api/tags": {"models": None}}) == []


@pytest.mark.parametrize("kind", ["llamacpp", "lmstudio", "ollama"])
async def test_models_can_be_loaded_and_unloaded(kind: Kind) -> None:
    instance = {"id": "m:1", "config": {}}
    profile = Routes(
        {
            "/api/v1/models": {"models": [{"key": "m", "loaded_instances": [instance]}]},
            "/api/v1/models/load": {"status": "loaded"},
            "/api/v1/models/unload": {"instance_id": "m:1"},
            "/models/load": {"success": True},
            "/models/unload": {"success": True},
            "/api/chat": {"done": True},
        }
    )
    async with serving(profile) as notes:
        engine = open_engine(kind, notes.url)
        assert isinstance(engine, Loader)
        await engine.load_model("m")
        await engine.unload_model("m")
        await engine.aclose()
    told = {"model": "m"}
    empty = told | {"messages": [], "stream": False}
    assert (
        profile.posted
        == {
            "llamacpp": [("/models/load", told), ("/models/unload", told)],
            "lmstudio": [
                ("/api/v1/models/load", told),
                ("/api/v1/models/unload", {"instance_id": "m:1"}),
            ],
            "ollama": [("/api/chat", empty), ("/api/chat", empty | {"keep_alive": 0})],
        }[kind]
    )


STEPS = [
    {"status": "pulling manifest"},
    {"status": "pulling aa", "digest": "sha256:aa", "total": 10},
    {"status": "pulling aa", "digest": "sha256:aa", "total": 10, "completed": 4},
    {"status": "pulling bb", "digest": "sha256:bb", "total": 5, "completed": 5},
    {"status": "verifying sha256 digest"},
]


async def pulled(steps: list[Json]) -> list[Pulled]:
    async with pair("ollama") as it:
        assert isinstance(it.profile, Ollama)
        assert isinstance(it.engine, Puller)
        it.profile.pulls = steps
        return [step async for step in it.engine.pull("m")]


async def test_ollama_downloads_and_says_how_far_it_is() -> None:
    found = await pulled([*STEPS, {"status": "success"}])
    assert [(step.done_bytes, step.total_bytes) for step in found] == [
        *((0, 0), (0, 10), (4, 10), (9, 15), (9, 15), (9, 15)),
    ]
    assert found[-1].step == "success"


@pytest.mark.parametrize("last", [{"error": "pull model manifest: file does not exist"}, {}, 7])
async def test_a_download_that_fails_or_breaks_off_is_an_error(last: Any) -> None:
    with pytest.raises(EngineError):
        await pulled([*STEPS, last])


@pytest.mark.parametrize("kind", ADAPTERS)
@pytest.mark.parametrize("body", [b"", b"[]", b'{"data": 1, "models": 1}', b"<html>", b"[" * 9000])
async def test_a_list_that_is_none_is_an_error_with_a_cause(kind: Kind, body: bytes) -> None:
    async with serve(plain("200 OK", body)) as server:
        engine = open_engine(kind, server.url)
        with pytest.raises(Broken) as caught:
            await engine.models()
        await engine.aclose()
    assert caught.value.cause == ("path" if body.startswith(b"<html") else "dialect")


def test_names_that_nobody_can_use_are_passed_over_and_doubles_too() -> None:
    rows: list[Any] = [{"id": name} for name in ("a", "a", "", "x" * 201, "b\n", None, 7)]
    assert cards.listed({"data": [*rows, 7]}) == [ModelCard("a")]


def test_ten_thousand_models_are_too_many() -> None:
    with pytest.raises(Broken, match="10000") as caught:
        cards.listed({"data": [{"id": str(n)} for n in range(10_000)]})
    assert caught.value.cause == "too_much"


def test_what_is_told_wrongly_is_not_told() -> None:
    row = {"id": "a", "max_model_len": "many", "meta": [1], "parent": "", "capabilities": 7}
    assert cards.listed(json.loads(json.dumps({"data": [row]}))) == [ModelCard("a")]
