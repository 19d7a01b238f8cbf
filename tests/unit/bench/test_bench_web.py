"""The figures of ``deploy/bench web``: stamps, shares, percentiles, medians."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time

from tests.bench import web_engine, web_figures, web_spent

ONE = {
    "delays_ms": [10, 20], "first_s": 0.2, "accepted_s": 0.1, "frames": 3, "size": 400,
    "end": "done", "tokens": 2,
}  # fmt: skip


def test_a_stamp_tells_its_age_over_the_turn_of_its_digits() -> None:
    made = web_engine.stamp()
    assert re.fullmatch(r"Q[0-9A-Z]{4}", made)
    assert 0 <= web_engine.age_ms(made, time.monotonic_ns()) < 60_000
    assert web_engine.age_ms("QZZZZ", (web_engine.SPAN_MS + 4) * 1_000_000) == 5


def test_an_answer_has_as_many_tokens_as_asked_for_each_with_a_place_for_its_stamp() -> None:
    assert len(web_engine.pieces(450)) == 450
    assert all(piece.count(web_engine.PLACE) == 1 for piece in web_engine.pieces(450))


def test_a_round_is_counted_for_a_thousand_tokens() -> None:
    broken = {**ONE, "end": "TimeoutError", "first_s": None, "delays_ms": [90]}
    figures = web_figures.of_round([ONE, ONE, broken], {"web": 0.03, "runner": 0.006}, 10.0)
    assert (figures["tokens"], figures["failed"]) == (6, 1)
    assert figures["ends"] == ["TimeoutError", "done"]
    assert round(figures["cpu_s_per_1000_tokens"], 6) == 6.0
    assert round(figures["cpu_s_per_1000_tokens_of"]["web"], 6) == 5.0
    assert figures["added_delay_p95_ms"] == 90
    assert figures["frames_per_token"] == 1.5


def test_the_median_goes_into_every_share() -> None:
    rounds = [{"cpu": n, "of": {"web": 2 * n}, "ends": [str(n)]} for n in (1, 5, 3)]
    assert web_figures.median(rounds) == {"cpu": 3, "of": {"web": 6}, "ends": ["3"]}


def test_processes_are_counted_with_their_children() -> None:
    child = (
        "import time; x = 0\nwhile time.process_time() < 0.3: x += 1\nprint(flush=True)\ninput()"
    )
    outer = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {child!r}])"
    with subprocess.Popen(
        [sys.executable, "-c", outer], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        process.stdout.readline()
        family = web_spent.family(process.pid)
        assert len(family) == 2
        assert web_spent.cpu_s(family) >= 0.3 - 2 / web_spent.TICKS
        memory = web_spent.memory([*family, os.getpid()])
        assert memory.processes == 3
        assert 0 < memory.pss < memory.rss
        process.communicate(b"\n")
