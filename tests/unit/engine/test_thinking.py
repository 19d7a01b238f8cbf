"""Reasoning between tags is told apart however the text is cut."""

from __future__ import annotations

import pytest

from engine_adapter.thinking import Tags, ThinkingTags
from engine_adapter.types import Reasoning, Text


def split(pieces: list[str], *, inside: bool = False) -> tuple[str, str]:
    tags = ThinkingTags(inside=inside)
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
        ("<think>\n\n</think>\n\nso", "", "so"),
        ("<think>\nwhy\n</think>\n\nso", "why\n", "so"),
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


@pytest.mark.parametrize(
    ("text", "reasoning", "answer"),
    [("why</think>\n\nso", "why", "so"), ("why", "why", ""), ("</think>so", "", "so")],
)
def test_an_answer_may_begin_inside(text: str, reasoning: str, answer: str) -> None:
    for at in range(len(text)):
        assert split([text[:at], text[at:]] if at else [text], inside=True) == (
            reasoning,
            answer,
        ), at


def test_other_models_write_other_tags() -> None:
    tags = ThinkingTags(Tags("[THINK]", "[/THINK]"))
    parts = list(tags.feed("[THINK]why[/THINK]so"))
    assert parts == [Reasoning("why"), Text("so")]
    assert tags.over
