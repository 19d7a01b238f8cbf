"""The two frames that every reader of every answer gets: it was begun, it is done. From moulds."""

from __future__ import annotations

from functools import lru_cache
from uuid import uuid4

from django.template.loader import render_to_string
from django.utils.safestring import SafeString
from django.utils.translation import override

from chat.domain import window
from chat.domain.answers import Reading
from chat.live.moulds import MARKS, Mould
from chat.models import Generation, LanguageModel, Message

_ANSWER, _ONCE, _NAME, _HTML, _QUESTION = MARKS[:5]


def begun(answer_id: str, language: str) -> str:
    """There is nothing to read yet, and nobody before it."""
    return _begun(language).filled(answer_id)


def is_plain(reading: Reading) -> bool:
    """Whether it ended as most do: in order, in words, and with no version beside it."""
    run, model = reading.generation, reading.message.language_model
    if run is None or model is None or run.state != Generation.State.DONE or run.reason:
        return False
    is_bare = reading.reasoned_ms is None and len(reading.versions) == 1
    is_bare = is_bare and window.fill([reading]) is None
    return is_bare and bool(reading.html)


def done(reading: Reading, language: str) -> str:
    """The whole of a plain answer."""
    model = reading.message.language_model
    name = model.named_in(language) if model else ""
    return _done(language).filled(reading.message.pk, uuid4(), name, reading.html or "")


@lru_cache
def _begun(language: str) -> Mould:
    message = {"pk": _ANSWER}
    context = {"message": message, "active": {"message": message}, "oob": True, "frame": True}
    with override(language):
        return Mould(render_to_string("chat/_begun_frame.html", context))


@lru_cache
def _done(language: str) -> Mould:
    model = LanguageModel(display_name=str(_NAME))
    message = Message(
        id=_ANSWER, parent_id=_QUESTION, role=Message.Role.ASSISTANT, language_model=model
    )
    run = Generation(message=message, state=Generation.State.DONE)
    html = SafeString(_HTML)
    reading = Reading(message, html, run, html=html, versions=(message.pk,))
    context = {"message": message, "reading": reading, "new_id": _ONCE, "frame": True}
    with override(language):
        return Mould(render_to_string("chat/_answer_frame.html", context))
