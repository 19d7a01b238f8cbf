"""``deploy/bench markdown``: answers of every shape, the same each time, measured and told."""

from __future__ import annotations

import json

import pytest

from tests.bench import __main__, markdown_texts


def test_answers_are_as_long_as_asked_for_and_the_same_every_time() -> None:
    one, other = (list(markdown_texts.answers(2_000)) for _ in range(2))
    assert one == other
    assert {language for _, language, _ in one} == {"English", "Turkish"}
    assert len({(shape, language) for shape, language, _ in one}) == len(one) > 12
    assert all(2_000 <= len(text) < 5_000 for _, _, text in one)


def test_it_prints_a_row_for_each_and_that_all_ended_as_at_once(
    capsys: pytest.CaptureFixture[str],
) -> None:
    arguments = ["markdown", "--characters", "300", "--piece", "7", "--runs", "1"]
    assert __main__.main([*arguments, "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert all(row["same"] and row["ratio"] > 0 for row in told["rows"])
    assert __main__.main(arguments) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == len(told["rows"]) + 2
    assert any(line.startswith("nested lists, Turkish") for line in lines)
