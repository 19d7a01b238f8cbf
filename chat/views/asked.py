"""What a page is answered that has just asked: its question, and the answer that is to come."""

from __future__ import annotations

from functools import lru_cache
from typing import Any
from uuid import uuid4

from django.template.loader import render_to_string
from django.utils.safestring import SafeString
from django.utils.translation import get_language, override

from chat.domain import answers, messages
from chat.domain.answers import Reading
from chat.live.moulds import MARKS, Mould
from chat.models import Generation, LanguageModel, Message

_QUESTION, _ANSWER, _CONVERSATION, _ONCE, _TEXT, _NAME = MARKS[:6]
_TEMPLATE = "chat/_asked.html"


def html(asked: messages.Asked) -> SafeString:
    """The fragment. What was recorded a moment ago is known, and not read again."""
    place = asked.ahead + 1 if asked.ahead else 0
    if asked.run is None or not asked.is_alone:
        question, answer = answers.read([asked.question, asked.answer])
        return render_to_string(_TEMPLATE, _context(question, answer, uuid4(), place))
    mould = _mould(get_language(), place)
    model = asked.answer.language_model
    return SafeString(
        mould.filled(
            asked.question.pk, asked.answer.pk, asked.conversation.pk, uuid4(),
            asked.question.text, model.named if model else "",
        )
    )  # fmt: skip


@lru_cache(256)
def _mould(language: str, place: int) -> Mould:
    """For a question that follows another message."""
    model = LanguageModel(display_name=str(_NAME))
    question = Message(
        id=_QUESTION, conversation_id=_CONVERSATION, parent_id=_CONVERSATION,
        role=Message.Role.USER, text=str(_TEXT),
    )  # fmt: skip
    answer = Message(
        id=_ANSWER, conversation_id=_CONVERSATION, parent_id=_QUESTION,
        role=Message.Role.ASSISTANT, language_model=model,
    )  # fmt: skip
    readings = (
        Reading(question, question.text, versions=(question.pk,)),
        Reading(answer, "", Generation(message=answer), versions=(answer.pk,)),
    )
    with override(language):
        return Mould(render_to_string(_TEMPLATE, _context(*readings, _ONCE, place)))


def _context(question: Reading, answer: Reading, once: object, place: int) -> dict[str, Any]:
    return {
        "question": question,
        "reading": answer,
        "active": answer if answer.is_active else None,
        "place": place,
        "message_id": once,
        "leaf": answer.message,
    }
