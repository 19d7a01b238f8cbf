"""Reasoning between tags is told apart however the text is cut."""

from __future__ import annotations

import pytest

from engine_adapter.remote.thinking import ThinkingTags
from engine_adapter.types import Reasoning, Text


def split(pieces: list[str]) -> tuple[str, str]:
    tags = ThinkingTags()
    parts = [part for piece in pieces for part in tags.feed(piece)]
    parts += tags.flush()
    assert all(part.text for part in parts)
    return (
        "".join(part.text for part in parts if isinstance(part, Reasoning)),
        "".join(part.text for part in parts if isinstance(part, Text)),
    )


@pytest.mark.parametrize(
    ("text", "reasoning", "answer"),
    [
        ("<think>why</think>\n\nso", "why", "so"),
        ("\n<think>a < b</think>so </think> x", "a < b", "so </think> x"),
        ("so", "", "so"),
        ("  so", "", "  so"),
        ("The tag <think> opens</think>", "", "The tag <think> opens</think>"),
        ("<thin", "", "<thin"),
        ("<thing>", "", "<thing>"),
        ("<think>cut off </thi", "cut off </thi", ""),
        ("<think>why</think>", "why", ""),
        ("", "", ""),
    ],
)
def test_tags_at_every_cut(text: str, reasoning: str, answer: str) -> None:
    for at in range(len(text) + 1):
        pieces = [piece for piece in (text[:at], text[at:]) if piece]
        assert split(pieces) == (reasoning, answer), at
    assert split(list(text)) == (reasoning, answer)


def test_plain_text_is_not_held_back() -> None:
    assert list(ThinkingTags().feed("Hello")) == [Text("Hello")]
