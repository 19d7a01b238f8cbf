"""What the page of a temporary chat is sent besides the growth of its answers."""

from __future__ import annotations

from typing import Any
from uuid import uuid4

from django.template.loader import render_to_string
from django.utils import translation

from chat.domain.answers import Reading
from chat.models import Message
from chat.temporary.growing import Growing


def place(talk: str) -> str:
    """Which talk the next question belongs to, and how far that is."""
    return render_to_string("chat/temporary_place.html", {"talk": talk, "oob": True})


def asked(text: str, growing: Growing, talk: str, language: str) -> str:
    """The question, and the answer that is to come."""
    question = Message(id=uuid4(), role=Message.Role.USER, text=text)
    return _render(
        "chat/temporary_asked.html", language, question=Reading(question, text),
        reading=growing.reading, active=growing.reading, talk=talk,
    )  # fmt: skip


def refused(problem: object, language: str) -> str:
    """Why not, beside the text, which stays where it was typed."""
    return _render("chat/temporary_refused.html", language, problem=problem)


def over(language: str) -> str:
    """The conversation that the page shows is gone."""
    return _render("chat/temporary_over.html", language, is_over=True, oob=True)


def _render(template: str, language: str, **context: Any) -> str:
    with translation.override(language):
        return render_to_string(template, {"is_temporary": True, **context})
