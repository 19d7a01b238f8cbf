"""A pool of engines as one: who is asked, who steps in and when, what a reader gets of it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import aclosing
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine_adapter.errors import (
    Broken,
    ContextTooLong,
    EngineError,
    Overloaded,
    Refused,
    Unreachable,
)
from engine_adapter.pool import Known, Member, Pool
from engine_adapter.script import Rule, Script
from engine_adapter.scripted import ScriptedEngine
from engine_adapter.types import (
    Event,
    Failed,
    Finished,
    Gauges,
    Progress,
    Request,
    Text,
    Turn,
)


class Clock:
    """Stands still until it is moved."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


class Peer(ScriptedEngine):
    """Says the tag it is given; fails with ``error`` while it has one, and tells its ``gauges``."""

    def __init__(self, tag: str, **more: object) -> None:
        super().__init__(Script(Rule((f"{tag} ", "says.")), model=f"at-{tag}", **more))
        self.tag = tag
        self.error: EngineError | None = None
        self.asked: list[Request] = []
        self.told: Gauges | None = Gauges()

    async def stream(self, request: Request) -> AsyncGenerator[Event, None]:
        self.asked.append(request)
        if self.error is not None:
            yield Failed(self.error)
            return
        async with aclosing(super().stream(request)) as events:
            async for event in events:
                yield event

    async def health(self) -> None:
        if self.error is not None:
            raise self.error
        await super().health()

    async def gauges(self) -> Gauges:
        if self.told is None:
            raise Broken("it does not tell")
        return self.told


Made = Callable[..., Pool]


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
async def pool_of(clock: Clock) -> AsyncIterator[Made]:
    pools: list[Pool] = []

    def make(*peers: Peer) -> Pool:
        members = [
            Member(peer.tag, f"at-{peer.tag}", peer, Known(), peer.script.continues)
            for peer in peers
        ]
        pools.append(Pool("model", members, clock))
        return pools[-1]

    yield make
    for pool in pools:
        await pool.aclose()


def request(question: str = "Who?", *more: Turn, continue_final: bool = False) -> Request:
    turns = (Turn("user", question), *more)
    return Request("model", turns, continue_final=continue_final, cache_salt="salt")


async def heard(pool: Pool, asked: Request | None = None) -> list[Event]:
    return [event async for event in pool.stream(asked or request())]


async def who(pool: Pool, asked: Request | None = None) -> str:
    """Whose words they were."""
    events = await heard(pool, asked)
    assert isinstance(events[-1], Finished), events
    return "".join(event.text for event in events if isinstance(event, Text)).split()[0]


async def test_each_is_asked_by_its_own_name_and_the_reader_is_told_whom(pool_of: Made) -> None:
    a, b = Peer("a"), Peer("b")
    events = await heard(pool_of(a, b))
    [asked] = a.asked + b.asked
    first = "a" if a.asked else "b"
    assert asked == replace(request(), model=f"at-{first}")
    assert events[0] == Progress(0, engine=first)


async def test_a_conversation_goes_back_to_where_it_was_answered(
    pool_of: Made, clock: Clock
) -> None:
    a, b = Peer("a"), Peer("b")
    pool = pool_of(a, b)
    first = await who(pool)
    other, busy = (a, b) if first == "b" else (b, a)
    busy.told = Gauges(running=3)
    clock.now = 2
    await pool.look()
    more = (Turn("assistant", "I."), Turn("user", "And who else?"))
    assert await who(pool, request("Who?", *more)) == first, "its prompt is in the cache there"
    assert await who(pool, request("What?")) == other.tag, "somebody else goes where nobody is"


@pytest.mark.parametrize(
    "error",
    [Unreachable(""), Broken(""), Overloaded(""), Refused("").because("model"),
     Refused("").because("key")],
)  # fmt: skip
async def test_another_steps_in_before_the_first_token(pool_of: Made, error: EngineError) -> None:
    a, b = Peer("a"), Peer("b")
    a.error = error
    pool = pool_of(a, b)
    for n in range(20):
        assert await who(pool, request(str(n))) == "b"
    assert len(a.asked) == 1, "who failed is let be"


async def test_what_the_request_itself_is_refused_for_nobody_is_asked_again(pool_of: Made) -> None:
    peers = [Peer("a"), Peer("b")]
    for refusal in (Refused("no"), ContextTooLong("", prompt_tokens=9, context_length=8)):
        for peer in peers:
            peer.error, peer.asked = refusal, []
        events = await heard(pool_of(*peers))
        assert events[1:] == [Failed(refusal)]
        assert sum(len(peer.asked) for peer in peers) == 1


async def test_nobody_steps_in_after_the_first_token(pool_of: Made) -> None:
    a, b = Peer("a"), Peer("b")
    a.script = replace(a.script, default=Rule(("a ", "breaks"), fail_after=1))
    pool = pool_of(a, b)
    asked, *_ = [r for n in range(30) if await _asks(pool, r := request(str(n))) == "a"]
    events = await heard(pool_of(a, b), asked)
    assert [type(event) for event in events] == [Progress, Text, Failed]
    assert isinstance(events[-1], Failed) and isinstance(events[-1].error, Broken)
    assert not b.asked


async def test_who_goes_on_after_a_break_finds_another(pool_of: Made, clock: Clock) -> None:
    a, b = Peer("a"), Peer("b")
    pool = pool_of(a, b)
    first = await who(pool)
    broken, other = (a, b) if first == "a" else (b, a)
    broken.script = replace(broken.script, default=Rule((f"{first} ", "breaks"), fail_after=1))
    assert isinstance((await heard(pool))[-1], Failed)
    begun = request("Who?", Turn("assistant", f"{other.tag} "), continue_final=True)
    events = await heard(pool, begun)
    assert events[0] == Progress(0, engine=other.tag)
    assert Text("says.") in events


async def _asks(pool: Pool, asked: Request) -> str | None:
    async with aclosing(pool.stream(asked)) as events:
        event = await anext(events)
        assert isinstance(event, Progress)
        return event.engine


async def test_a_full_one_is_left_alone_for_as_long_as_it_says(pool_of: Made, clock: Clock) -> None:
    a, b = Peer("a"), Peer("b")
    a.error, b.error = Overloaded("", retry_after=30), Overloaded("", retry_after=20)
    pool = pool_of(a, b)
    for asked in (1, 1):
        [*_, end] = await heard(pool)
        assert isinstance(end, Failed) and isinstance(end.error, Overloaded)
        assert end.error.retry_after == 20
        assert (len(a.asked), len(b.asked)) == (asked, asked)
    a.error = b.error = None
    clock.now = 19
    assert isinstance((await heard(pool))[-1], Failed)
    clock.now = 21
    assert await who(pool, request("Another?")) == "b"


async def test_one_that_was_away_comes_back_once_it_says_that_it_is_well(
    pool_of: Made, clock: Clock
) -> None:
    a, b = Peer("a"), Peer("b")
    a.error = Unreachable("")
    b.told = Gauges(running=50)
    pool = pool_of(a, b)
    await pool.look()
    assert await who(pool) == "b"
    clock.now = 1.5  # its pause is over; b told that it is busy a moment ago
    assert await who(pool, request("More?")) == "b", "it has not shown itself yet"
    await pool.look()
    clock.now = 3.0
    assert await who(pool, request("Still?")) == "b", "it has not, so it rests longer"
    a.error = None
    clock.now = 9.0
    await pool.look()
    assert await who(pool, request("Now?")) == "a"


async def test_one_that_went_away_meanwhile_is_noticed_before_anybody_is_sent_there(
    pool_of: Made,
) -> None:
    a, b = Peer("a"), Peer("b")
    b.told = Gauges(running=50)
    pool = pool_of(a, b)
    a.error = Broken("")
    a.told = None
    await pool.look()
    assert await who(pool) == "b"
    assert not a.asked


async def test_one_that_only_does_not_tell_its_gauges_is_asked_all_the_same(
    pool_of: Made,
) -> None:
    a, b = Peer("a"), Peer("b")
    b.told = Gauges(running=50)
    a.told = None
    pool = pool_of(a, b)
    await pool.look()
    assert await who(pool) == "a"


async def test_where_nobody_else_is_those_that_rest_are_tried(pool_of: Made) -> None:
    a, b = Peer("a"), Peer("b")
    a.error = b.error = Unreachable("away")
    pool = pool_of(a, b)
    [*_, end] = await heard(pool)
    assert isinstance(end, Failed) and isinstance(end.error, Unreachable)
    b.error = None
    assert await who(pool) == "b", "it is back before anybody looked"


async def test_as_long_as_one_is_only_full_waiting_helps(pool_of: Made) -> None:
    a, b = Peer("a"), Peer("b")
    a.error, b.error = Unreachable(""), Overloaded("")
    [*_, end] = await heard(pool_of(a, b))
    assert isinstance(end, Failed) and isinstance(end.error, Overloaded)


async def test_only_who_can_goes_on_with_an_answer(pool_of: Made) -> None:
    able, unable = Peer("able"), Peer("unable", continues=False)
    able.told = Gauges(running=90)
    pool = pool_of(able, unable)
    await pool.look()
    begun = request("Who?", Turn("assistant", "able "), continue_final=True)
    assert Text("says.") in await heard(pool, begun)
    assert not unable.asked
    able.error = Unreachable("")
    [*_, end] = await heard(pool, begun)
    assert isinstance(end, Failed) and isinstance(end.error, Unreachable)


async def test_closing_the_answer_closes_it_in_the_engine(pool_of: Made) -> None:
    a, b = Peer("a"), Peer("b")
    endless = Rule(tuple(f"{n} " for n in range(9999)), pace=1000)
    for peer in (a, b):
        peer.script = replace(peer.script, default=endless)
    pool = pool_of(a, b)
    async with aclosing(pool.stream(request())) as events:
        async for event in events:
            if isinstance(event, Text):
                break
        assert a.running + b.running == 1
    assert (a.running + b.running, a.cancelled + b.cancelled) == (0, 1)


async def test_a_change_of_its_members_leaves_what_is_being_written(pool_of: Made) -> None:
    a, b = Peer("a"), Peer("b")
    pool = pool_of(a)
    async with aclosing(pool.stream(request())) as events:
        assert await anext(events) == Progress(0, engine="a")
        assert await anext(events) == Text("a ")
        pool.serve_with([Member("b", "at-b", b, Known())])
        assert await anext(events) == Text("says.")
    assert await who(pool) == "b"


async def test_gauges_are_asked_for_while_words_come_and_not_before(pool_of: Made) -> None:
    class Watched(Peer):
        looks = 0

        async def gauges(self) -> Gauges:
            self.looks += 1
            return Gauges()

    a = Watched("a")
    pool = pool_of(a)
    async with aclosing(pool.stream(request())) as events:
        assert await anext(events) == Progress(0, engine="a")
        assert await anext(events) == Text("a "), "the first word waits for no look"
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        assert a.looks == 1


async def test_it_is_well_as_long_as_one_is_and_tells_what_all_can(pool_of: Made) -> None:
    a, b = Peer("a", context_length=512), Peer("b", context_length=128, continues=False)
    pool = pool_of(a, b)
    [card] = await pool.models()
    assert (card.name, card.context_length, card.continues) == ("model", 128, False)
    b.error = Unreachable("")
    await pool.health()
    [card] = await pool.models()
    assert card.context_length == 512
    a.error = Broken("")
    with pytest.raises(EngineError):
        await pool.health()
    with pytest.raises(EngineError):
        await pool.models()


async def test_a_closed_pool_fails_as_any_closed_engine_does(pool_of: Made) -> None:
    pool = pool_of(Peer("a"), Peer("b"))
    await pool.aclose()
    [*_, end] = await heard(pool)
    assert isinstance(end, Failed) and isinstance(end.error, Unreachable)


outcomes = st.sampled_from([None, Unreachable(""), Broken(""), Overloaded(""),
                            Overloaded("", retry_after=5), Refused("")])  # fmt: skip


@given(st.lists(st.lists(outcomes, min_size=3, max_size=3), min_size=1, max_size=6))
def test_whatever_fails_an_answer_is_one_engine_s_and_has_one_end(
    rounds: list[list[EngineError | None]],
) -> None:
    async def play() -> None:
        clock = Clock()
        peers = [Peer(tag) for tag in "abc"]
        pool = Pool("model", [Member(p.tag, f"at-{p.tag}", p, Known()) for p in peers], clock)
        for n, errors in enumerate(rounds):
            for peer, error in zip(peers, errors, strict=True):
                peer.error, peer.asked = error, []
            events = await heard(pool, request(str(n)))
            assert [type(event) for event in events[:-1]].count(Failed) == 0
            assert isinstance(events[-1], Failed | Finished)
            assert all(len(peer.asked) <= 1 for peer in peers)
            texts = [event.text for event in events if isinstance(event, Text)]
            assert texts in ([], *([f"{p.tag} ", "says."] for p in peers if not p.error))
            assert bool(texts) == isinstance(events[-1], Finished)
            if all(error is None for error in errors) and texts == []:
                assert isinstance(events[-1].error, Overloaded), "they said that they were full"
            clock.now += 0.7
        await pool.aclose()

    asyncio.run(play())
