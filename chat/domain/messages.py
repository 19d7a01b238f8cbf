"""Asking, and asking otherwise: one transaction records question, empty answer and its run."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import timedelta
from typing import Any
from uuid import UUID

from django.db import IntegrityError, connection, transaction
from django.http import Http404
from django.utils import timezone

from accounts.domain import audit
from accounts.models import User
from chat.domain import conversations, generations, keeping, titles
from chat.models import Conversation, Generation, LanguageModel, Message

# Written out, as all that fifty people who send at once ask for: putting it together takes longer.
_LOOK = """
    SELECT m.*, EXISTS (
        SELECT 1 FROM chat_generation g
        WHERE g.message_id = m.id AND g.state IN ('queued', 'running')
    ) AS is_active, EXISTS (SELECT 1 FROM chat_message c WHERE c.parent_id = m.id) AS goes_on
    FROM chat_message m
    WHERE m.id = %(new)s OR m.id = (
        SELECT id FROM chat_message
        WHERE conversation_id = %(conversation)s
          AND (%(parent)s::uuid IS NULL OR id = %(parent)s::uuid)
        ORDER BY created_at DESC, id DESC LIMIT 1
    )
"""
_WRITE = """
    WITH used AS (UPDATE chat_conversation SET updated_at = %(at)s WHERE id = %(conversation)s)
    INSERT INTO chat_message
        (id, conversation_id, parent_id, role, text, language_model_id, created_at)
    VALUES
        (%(question)s, %(conversation)s, %(parent)s, 'user', %(text)s, NULL, %(at)s),
        (%(answer)s, %(conversation)s, %(question)s, 'assistant', '', %(model)s, %(then)s)
"""


class StillWriting(Exception):
    """The answer before is not finished; stop it or wait for it."""


class Deleted(Exception):
    """The message that the page showed last is not there any more."""


@dataclass(frozen=True, slots=True)
class Asked:
    """A recorded question and the answer that is to come. ``ahead`` others wait before it.

    ``run`` is to write it. ``is_alone``: nobody has asked anything else in the question's place.
    Neither is known of a question that was recorded before.
    """

    conversation: Conversation
    question: Message
    answer: Message
    ahead: int = 0
    run: Generation | None = None
    is_alone: bool = False


def ask(
    user: User,
    text: str,
    *,
    message_id: UUID,
    conversation: Conversation | None = None,
    language_model: LanguageModel | None = None,
    parent: UUID | None = None,
) -> Asked:
    """Record a question in ``conversation``, or in a new one with ``language_model``.

    It comes after ``parent``, the last message the page showed (without it: after the newest), so
    that a page which is behind makes a branch. ``message_id`` is made by the page, so that the same
    post twice is one message. Raises ``StillWriting``, ``Deleted`` and ``keeping.TemporaryOnly``;
    raises ``Http404`` when the id is somebody else's.
    """
    keeping.check(user)
    try:
        with transaction.atomic():
            if conversation is not None:
                conversation = _locked(conversation)
            place = conversation.pk if conversation else None
            where = {"new": message_id, "conversation": place, "parent": parent}
            found = {message.pk: message for message in Message.objects.raw(_LOOK, where)}
            if message_id in found:
                return _repeated(user, found[message_id])
            conversation = conversation or _begin(user, text, language_model)
            asked = _write(conversation, _before(found.values(), parent), text, message_id)
            audit.record("message.asked", actor=user, about=asked.question, characters=len(text))
            return asked
    except IntegrityError:
        # The same post came twice at the same moment, and the other one was recorded.
        repeated = _already_asked(user, message_id)
        if repeated is None:
            raise
        return repeated


def edit(question: Message, text: str, *, message_id: UUID, actor: User) -> Asked:
    """Ask ``text`` in the place of ``question``, which stays as another version beside it.

    Raises ``Http404`` when the question is gone, or ``message_id`` is somebody else's, and
    ``keeping.TemporaryOnly``.
    """
    keeping.check(actor)
    with transaction.atomic():
        conversation = conversations.lock(question.conversation_id)
        repeated = _already_asked(actor, message_id)
        if repeated is not None:
            return repeated
        found = conversation.messages.select_related("parent").filter(pk=question.pk).first()
        if found is None:
            raise Http404
        asked = _write(conversation, found.parent, text, message_id)
        audit.record(
            "message.edited", actor=actor, about=asked.question, instead_of=str(found.pk),
            characters=len(text),
        )  # fmt: skip
        return asked


def _locked(conversation: Conversation) -> Conversation:
    """As it is now, with the model that is known already."""
    now = conversations.lock(conversation.pk)
    if now.language_model_id == conversation.language_model_id:
        now.language_model = conversation.language_model
    return now


def _begin(user: User, text: str, language_model: LanguageModel | None) -> Conversation:
    if language_model is None:
        raise ValueError("a new conversation needs a model")
    return Conversation.objects.create(
        owner=user,
        title=titles.first_words(text),
        language_model=language_model,
        updated_at=timezone.now(),
    )


def _before(found: Iterable[Any], parent: UUID | None) -> Message | None:
    """The message that the question comes after, if one was found."""
    last: Any = next(iter(found), None)
    if last is None and parent is not None:
        raise Deleted
    if last and last.is_active:
        raise StillWriting
    before: Message | None = last
    return before


def _write(
    conversation: Conversation, parent: Message | None, text: str, message_id: UUID
) -> Asked:
    now = timezone.now()
    question = Message(
        id=message_id,
        conversation=conversation,
        parent=parent,
        role=Message.Role.USER,
        text=text,
        created_at=now,
    )
    answer = Message(
        conversation=conversation,
        parent=question,
        role=Message.Role.ASSISTANT,
        language_model=conversation.language_model,
        created_at=now + timedelta(microseconds=1),
    )
    with connection.cursor() as cursor:
        cursor.execute(
            _WRITE,
            {
                "conversation": conversation.pk, "parent": question.parent_id, "text": text,
                "question": question.pk, "at": now, "answer": answer.pk,
                "model": answer.language_model_id, "then": answer.created_at,
            },
        )  # fmt: skip
    run, ahead = generations.enqueue(answer, is_new=True)
    return Asked(conversation, question, answer, ahead, run, not getattr(parent, "goes_on", True))


def _already_asked(user: User, message_id: UUID) -> Asked | None:
    question = Message.objects.filter(pk=message_id).first()
    return _repeated(user, question) if question else None


def _repeated(user: User, question: Message) -> Asked:
    """The question was recorded before. Raises ``Http404`` when it is somebody else's."""
    answer = question.children.order_by("created_at").first()
    taken = question.conversation.owner_id != user.pk or question.role != Message.Role.USER
    if taken or answer is None:
        raise Http404
    return Asked(question.conversation, question, answer)
