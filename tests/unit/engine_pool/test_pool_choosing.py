"""Which engine of a pool is asked: the least busy, unless another knows the conversation."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from engine_adapter.errors import Broken, Overloaded
from engine_adapter.pool import Known
from engine_adapter.pool.choosing import WORTH_REQUESTS, WORTH_SHARE, choose
from engine_adapter.pool.known import STALE_S
from engine_adapter.types import Gauges

NOW = 100.0


def told(running: int | None = None, waiting: int | None = None, slots: int | None = None) -> Known:
    known = Known()
    known.told(Gauges(running=running, waiting=waiting, slots=slots), NOW)
    return known


def rests(error: Broken | Overloaded, at: float = NOW) -> Known:
    known = Known()
    known.failed(error, at)
    return known


def chosen(last: str | None = None, talk: str = "talk", **known: Known) -> str | None:
    return choose(known, last=last, talk=talk, now=NOW)


def test_the_one_with_the_fewest_is_asked() -> None:
    assert chosen(a=told(running=5), b=told(running=2), c=told(running=3)) == "b"


def test_slots_make_big_and_small_ones_comparable() -> None:
    assert chosen(small=told(3, 0, slots=4), big=told(9, 0, slots=32)) == "big"
    assert chosen(small=told(3, 0), big=told(9, 0, slots=32)) == "small", "not all of them tell"


def test_nobody_is_sent_into_a_line_while_there_is_room_elsewhere() -> None:
    assert chosen(small=told(4, waiting=1), big=told(40)) == "big"
    assert chosen(small=told(4, slots=4), big=told(63, slots=64)) == "big"


def test_a_conversation_goes_back_unless_it_is_clearly_slower_there() -> None:
    assert chosen(last="a", a=told(running=6), b=told(running=1)) == "a"
    assert chosen(last="a", a=told(running=7), b=told(running=1)) == "b"
    assert chosen(last="a", a=told(4, 0, slots=8), b=told(0, 0, slots=8)) == "a"
    assert chosen(last="a", a=told(5, 0, slots=8), b=told(0, 0, slots=8)) == "b"
    assert chosen(last="a", a=told(2, waiting=1), b=told(running=2)) == "b", "it is full"
    assert chosen(last="a", a=told(2, waiting=1), b=told(2, waiting=1)) == "a", "so is the other"


def test_one_that_failed_is_asked_only_where_there_is_nobody_else() -> None:
    assert chosen(last="a", a=rests(Broken("")), b=told(running=50)) == "b"
    assert chosen(a=rests(Broken("")), b=rests(Broken(""), at=NOW - 0.5)) == "b", "back first"
    assert chosen(a=rests(Overloaded("", retry_after=5))) is None, "it said so itself"
    doubtful = rests(Broken(""), at=NOW - 2)
    assert chosen(a=doubtful, b=rests(Broken(""))) == "a"
    assert chosen(a=doubtful, b=told(running=50)) == "b"


def test_where_all_are_alike_conversations_spread_and_every_process_says_the_same() -> None:
    def seen() -> list[str | None]:
        return [chosen(talk=str(n), a=Known(), b=Known(), c=Known()) for n in range(60)]

    assert seen() == seen()
    assert {who: seen().count(who) > 10 for who in "abc"} == dict.fromkeys("abc", True)
    without_c = [choose({"a": Known(), "b": Known()}, last=None, talk=str(n), now=NOW)
                 for n in range(60)]  # fmt: skip
    assert all(now == before for now, before in zip(without_c, seen(), strict=True)
               if before != "c"), "who was not there stays where it was"  # fmt: skip


def test_what_was_told_long_ago_says_nothing() -> None:
    busy = told(running=50)
    found = choose({"a": busy, "b": told(running=1)}, last=None, talk="talk", now=NOW + STALE_S + 1)
    assert found == choose({"a": Known(), "b": Known()}, last=None, talk="talk", now=NOW)


numbers = st.integers(0, 100)
engines = st.dictionaries(
    st.sampled_from("abcdef"),
    st.one_of(
        st.builds(told, numbers, st.none() | st.integers(0, 3), st.none() | st.integers(1, 64)),
        st.builds(rests, st.just(Broken("")), st.floats(0, NOW)),
        st.builds(rests, st.just(Overloaded("", retry_after=9)), st.floats(0, NOW)),
    ),
    min_size=1,
)


@given(engines, st.none() | st.sampled_from("abcdef"), st.text(max_size=3))
def test_whoever_is_there(known: dict[str, Known], last: str | None, talk: str) -> None:
    found = choose(known, last=last, talk=talk, now=NOW)
    how = {tag: each.readiness(NOW) for tag, each in known.items()}
    if found is None:
        assert set(how.values()) == {"refusing"}
        return
    order = ["ready", "doubtful", "resting"]
    assert how[found] == min((each for each in how.values() if each in order), key=order.index)
    if how[found] == "resting":
        return
    loads = {tag: known[tag].load(NOW) for tag in known if how[tag] == how[found]}
    comparable = all(load.slots for load in loads.values())
    of = {tag: load.busy / (load.slots if comparable else 1) for tag, load in loads.items()}
    for other in loads:
        if found == last:
            worth = WORTH_SHARE if comparable else WORTH_REQUESTS
            has_room = loads[other].is_full or not loads[found].is_full
            assert has_room, "it waits although it need not"
            if loads[other].is_full == loads[found].is_full:
                assert of[found] <= 2 * of[other] + worth
        else:
            assert (loads[found].is_full, of[found]) <= (loads[other].is_full, of[other])
