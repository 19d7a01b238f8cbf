"""Asking: one transaction that records the question, the empty answer and its run."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from uuid import UUID

from django.db import IntegrityError, transaction
from django.http import Http404
from django.utils import timezone

from accounts.domain import audit
from accounts.models import User
from chat.domain import generations, titles, tree
from chat.models import Conversation, Generation, LanguageModel, Message


class StillWriting(Exception):
    """The answer before is not finished; stop it or wait for it."""


@dataclass(frozen=True, slots=True)
class Asked:
    """A recorded question and the answer that is to come. ``ahead`` others wait before it."""

    conversation: Conversation
    question: Message
    answer: Message
    ahead: int


def ask(
    user: User,
    text: str,
    *,
    message_id: UUID,
    conversation: Conversation | None = None,
    language_model: LanguageModel | None = None,
) -> Asked:
    """Record a question in ``conversation``, or in a new one with ``language_model``.

    ``message_id`` is made by the page, so that the same post twice is one message. Raises
    ``StillWriting``; raises ``Http404`` when the id is somebody else's.
    """
    try:
        return _record(user, text, message_id, conversation, language_model)
    except IntegrityError:
        # The same post came twice at the same moment, and the other one was recorded.
        repeated = _already_asked(user, message_id)
        if repeated is None:
            raise
        return repeated


def _record(
    user: User,
    text: str,
    message_id: UUID,
    conversation: Conversation | None,
    language_model: LanguageModel | None,
) -> Asked:
    with transaction.atomic():
        if conversation is not None:
            # The row's lock makes two posts into one conversation come one after the other.
            conversation = Conversation.objects.select_for_update().get(pk=conversation.pk)
        repeated = _already_asked(user, message_id)
        if repeated is not None:
            return repeated
        now = timezone.now()
        if conversation is None:
            if language_model is None:
                raise ValueError("a new conversation needs a model")
            conversation = Conversation.objects.create(
                owner=user,
                title=titles.first_words(text),
                language_model=language_model,
                updated_at=now,
            )
        parent = tree.leaf(conversation)
        if parent and parent.generations.filter(state__in=Generation.ACTIVE).exists():
            raise StillWriting
        question = Message.objects.create(
            id=message_id,
            conversation=conversation,
            parent=parent,
            role=Message.Role.USER,
            text=text,
            created_at=now,
        )
        answer = Message.objects.create(
            conversation=conversation,
            parent=question,
            role=Message.Role.ASSISTANT,
            language_model=conversation.language_model,
            created_at=now + timedelta(microseconds=1),
        )
        Conversation.objects.filter(pk=conversation.pk).update(updated_at=now)
        generation = generations.enqueue(answer)
        audit.record("message.asked", actor=user, about=question, characters=len(text))
    return Asked(conversation, question, answer, generations.ahead_of(generation))


def _already_asked(user: User, message_id: UUID) -> Asked | None:
    question = Message.objects.select_related("conversation").filter(pk=message_id).first()
    if question is None:
        return None
    answer = question.children.order_by("created_at").first()
    if question.conversation.owner_id != user.pk or answer is None:
        raise Http404
    return Asked(question.conversation, question, answer, ahead=0)
