"""Reasoning between tags is told apart however the text is cut."""

from __future__ import annotations

import pytest

from engine_adapter.remote.thinking import ThinkingTags
from engine_adapter.types import Reasoning, Text


def split(pieces: list[str], *, opened: bool) -> tuple[str, str]:
    tags = ThinkingTags(opened=opened)
    parts = [part for piece in pieces for part in tags.feed(piece)]
    parts += tags.flush()
    assert all(part.text for part in parts)
    return (
        "".join(part.text for part in parts if isinstance(part, Reasoning)),
        "".join(part.text for part in parts if isinstance(part, Text)),
    )


@pytest.mark.parametrize(
    ("text", "opened", "reasoning", "answer"),
    [
        ("<think>why</think>\n\nso", False, "why", "so"),
        ("\n<think>a < b</think>so </think> x", False, "a < b", "so </think> x"),
        ("why</think>so", True, "why", "so"),
        ("so", False, "", "so"),
        ("  so", False, "", "  so"),
        ("The tag <think> opens</think>", False, "", "The tag <think> opens</think>"),
        ("<thin", False, "", "<thin"),
        ("<thing>", False, "", "<thing>"),
        ("<think>cut off </thi", False, "cut off </thi", ""),
        ("<think>why</think>", False, "why", ""),
        ("", False, "", ""),
    ],
)
def test_tags_at_every_cut(text: str, opened: bool, reasoning: str, answer: str) -> None:
    for at in range(len(text) + 1):
        pieces = [piece for piece in (text[:at], text[at:]) if piece]
        assert split(pieces, opened=opened) == (reasoning, answer), at
    assert split(list(text), opened=opened) == (reasoning, answer)


def test_plain_text_is_not_held_back() -> None:
    assert list(ThinkingTags().feed("Hello")) == [Text("Hello")]
