"""Texts of many requests are computed together, in turn."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from concurrent.futures import Future

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine_adapter.bundled.embedding import Batcher
from engine_adapter.bundled.tally import Tally
from engine_adapter.errors import Broken, ContextTooLong, Overloaded

LIMIT_S = 20


class Lengths:
    """A device whose vector of a text is its length. It computes when it is let."""

    context, texts, tokens = 8, 3, 12

    def __init__(self) -> None:
        self.steps: list[list[list[int]]] = []
        self.may = threading.Semaphore(0)

    def compute(self, texts: Sequence[Sequence[int]]) -> Sequence[int]:
        self.may.acquire()
        self.steps.append([list(text) for text in texts])
        if any(text[0] == 0 for text in texts):
            raise RuntimeError("no")
        return [len(text) for text in texts]


def running(device: Lengths, queue: int = 99, tally: Tally | None = None) -> Batcher[int]:
    batcher: Batcher[int] = Batcher(device, tally or Tally(), queue=queue, batch=10)
    threading.Thread(target=batcher.run, daemon=True).start()
    return batcher


@given(
    st.lists(st.lists(st.lists(st.integers(1, 9), min_size=1, max_size=8), max_size=7), max_size=6)
)
def test_every_request_gets_its_vectors_and_no_step_is_too_large(
    requests: list[list[list[int]]],
) -> None:
    device = Lengths()
    batcher = running(device)
    futures = [batcher.submit(texts) for texts in requests]
    device.may.release(1000)
    for texts, future in zip(requests, futures, strict=True):
        assert future.result(LIMIT_S) == [len(text) for text in texts]
    for step in device.steps:
        assert len(step) <= device.texts
        assert sum(map(len, step)) <= 10


def test_a_short_request_does_not_wait_for_a_long_one() -> None:
    device = Lengths()
    batcher = running(device)
    long = batcher.submit([[1] * 4] * 50)
    short = batcher.submit([[2, 2]])
    device.may.release(3)
    assert short.result(LIMIT_S) == [2]
    assert not long.done()
    device.may.release(1000)
    assert len(long.result(LIMIT_S)) == 50


def test_what_fails_fails_alone_and_a_cancelled_request_leaves() -> None:
    device = Lengths()
    batcher = running(device)
    held = batcher.submit([[1] * 8])  # fills a step while the others come
    bad, gone, good = batcher.submit([[0] * 8]), batcher.submit([[3] * 8] * 9), submit(batcher)
    gone.cancel()
    device.may.release(1000)
    assert held.result(LIMIT_S) == [8]
    with pytest.raises(Broken, match="no"):
        bad.result(LIMIT_S)
    assert good.result(LIMIT_S) == [8]
    assert sum(text[0] == 3 for step in device.steps for text in step) <= 1


def submit(batcher: Batcher[int]) -> Future[list[int]]:
    return batcher.submit([[5] * 8])


def test_too_long_and_too_many_are_refused() -> None:
    batcher = running(Lengths(), queue=2)
    with pytest.raises(ContextTooLong, match=r"has 9 tokens; the model reads 8") as refusal:
        batcher.submit([[1], [1] * 9])
    assert (refusal.value.prompt_tokens, refusal.value.context_length) == (9, 8)
    with pytest.raises(Overloaded):
        for _ in range(4):
            batcher.submit([[1]] * 9)
    assert batcher.submit([]).result(LIMIT_S) == []


def test_every_step_is_counted_and_who_waits_for_it() -> None:
    tally, device = Tally(), Lengths()
    batcher = running(device, tally=tally)
    first = batcher.submit([[1] * 8])
    while not tally.running:  # until it fills a step
        time.sleep(0.01)
    long, short = batcher.submit([[2] * 4] * 4), batcher.submit([[3] * 2])
    device.may.release()
    assert first.result(LIMIT_S) == [8]
    while tally.running < 2:  # both share the second step
        time.sleep(0.01)
    assert not tally.waiting
    device.may.release(1000)
    assert (long.result(LIMIT_S), short.result(LIMIT_S)) == ([4] * 4, [2])
    while tally.running:
        time.sleep(0.01)
    counted = tally.snapshot()
    assert counted["counters"]["prompt_tokens"] == 8 + 4 * 4 + 2
    assert counted["histograms"]["step_s"]["counts"] != [0] * 16
    assert sum(counted["histograms"]["batch_fill"]["counts"]) == len(device.steps)
