"""How busy an engine is: recorded pages of the three that were seen running, and imitations."""

from __future__ import annotations

import pytest

from engine_adapter.engine import Gauged
from engine_adapter.remote import host, llamacpp, sglang, trtllm, vllm
from engine_adapter.remote.gauge_text import Names, by_model, gauges
from engine_adapter.remote.host import HostEngine
from engine_adapter.remote.kinds import ADAPTERS, Kind, open_engine
from engine_adapter.types import Gauges
from tests.unit.engine_remote.imitated import ASK, HELLO, pair
from tests.unit.engine_remote.replay import GOLDEN, golden, plain, serve


def recorded(engine: str) -> bytes:
    return (GOLDEN / engine / "metrics.body").read_bytes()


@pytest.mark.parametrize(
    ("page", "names", "expected"),
    [
        (
            recorded("llamacpp"),
            llamacpp.NAMES,
            Gauges(
                running=0,
                waiting=0,
                prefix_hits=199 / 250,
                written_tokens=102,
                asked_tokens=250,
                found_tokens=199,
            ),
        ),
        (
            recorded("vllm_cpu"),
            vllm.NAMES,
            Gauges(
                0,
                0,
                None,
                0.0,
                0.0,
                preempted=0,
                written_tokens=29,
                asked_tokens=180,
                found_tokens=0,
            ),
        ),
        (
            recorded("sglang_cpu"),
            sglang.NAMES,
            Gauges(
                0,
                0,
                None,
                0.01,
                234 / 286,
                preempted=0,
                written_tokens=76,
                asked_tokens=286,
                found_tokens=234,
            ),
        ),
        (b"trtllm_num_requests_running 3.0\n", trtllm.NAMES, Gauges(running=3)),
        (b"", vllm.NAMES, Gauges()),
    ],
)
def test_recorded_pages(page: bytes, names: Names, expected: Gauges) -> None:
    assert gauges(page, names) == expected


def test_parts_of_an_engine_are_added_up_and_shares_are_not() -> None:
    page = b"""
# HELP r{} 99
r{engine="0",model_name="a} b\\" {c"} 2.0
r{engine="1",model_name="x"} 3.0 1796004983
r_bucket{le="+Inf"} 7
kv{engine="0"} 0.5
kv{engine="1"} 1.5
w NaN
w +Inf
w nonsense
w
"""
    told = gauges(page, Names(running="r", waiting="w", kv_use="kv"))
    assert told == Gauges(running=5, kv_use=1.0)


@pytest.mark.parametrize("kind", ADAPTERS)
async def test_every_kind_can_be_asked_how_busy_it_is(kind: Kind) -> None:
    slow = type(HELLO)(pieces=("a",) * 50, pace=20)
    tells = kind in {"llamacpp", "vllm", "sglang", "trtllm"}
    async with pair(kind, slow) as it:
        assert isinstance(it.engine, Gauged)
        assert (await it.engine.gauges()).running == (0 if tells else None)
        events = it.engine.stream(ASK)
        await anext(events)
        assert (await it.engine.gauges()).running == (1 if tells else None)
        await events.aclose()


async def test_slots_of_llama_cpp_tell_its_memory_where_it_was_started_without_metrics() -> None:
    def reply(nth: int) -> object:
        return [plain("501 Not Implemented", b'{"error":{}}'), golden("llamacpp", "slots")][nth]

    async with serve(reply) as server:  # type: ignore[arg-type]  # both are replies
        engine = open_engine("llamacpp", server.url)
        told = await engine.gauges()
        await engine.aclose()
    assert told == Gauges(running=0, slots=2, kv_use=0.0)


@pytest.mark.parametrize("kind", ADAPTERS)
@pytest.mark.parametrize("status", ["404 Not Found", "501 Not Implemented"])
async def test_of_an_engine_without_metrics_nothing_is_known(kind: Kind, status: str) -> None:
    async with serve(plain(status, b"{}")) as server:
        engine = open_engine(kind, server.url)
        assert await engine.gauges() == Gauges()
        await engine.aclose()


def test_each_model_that_a_page_names_is_told_apart() -> None:
    page = (
        b'vllm:num_requests_running{model_name="a",engine="0"} 2\n'
        b'vllm:num_requests_running{engine="0",model_name="b \\"c\\\\"} 3\n'
        b'konak:slots{model_name="a"} 8\nvllm:num_requests_waiting 9\n'
    )
    found = by_model(page, host.NAMES)
    assert found == {"a": Gauges(running=2, slots=8), 'b "c\\': Gauges(running=3)}
    assert by_model(b"vllm:num_requests_running 1\n", vllm.NAMES) == {}


async def test_our_own_host_tells_what_vllm_tells() -> None:
    async with serve(plain("200 OK", recorded("vllm_cpu"))) as server:
        engine = HostEngine(server.url)
        assert (await engine.gauges()).written_tokens == 29
        await engine.aclose()
