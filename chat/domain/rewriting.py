"""Answers written on, and answers written anew: what is there is never overwritten."""

from __future__ import annotations

from typing import Literal
from uuid import UUID, uuid4

from django.db import transaction
from django.http import Http404
from django.utils import timezone

from accounts.domain import audit
from accounts.models import User
from chat.domain import allowance, conversations, generations, keeping, rights
from chat.models import Generation, LanguageModel, Message

Remedy = Literal["", "continue", "retry"]
_BROKEN = (Generation.State.FAILED, Generation.State.INTERRUPTED, Generation.State.STOPPED)


def remedy(run: Generation | None, model: LanguageModel | None, text: str) -> Remedy:
    """What helps an answer that ended before its end: to go on from its text, or a new try."""
    if run is None or run.reason in {"context_length_exceeded", "not_allowed"}:
        return ""
    if run.state not in _BROKEN and (run.state, run.reason) != (Generation.State.DONE, "length"):
        return ""
    if not text or model is None or not model.continues:
        return "retry"
    return "continue" if allowance.left(text) else ""


def retry(answer: Message, *, actor: User, sibling_id: UUID | None = None) -> Message:
    """Write an answer on that ended before its end; returns the answer that is being written.

    The text so far stands and is continued. A sibling takes the place of an answer that the
    conversation has gone on from, and of one whose model cannot continue. What needs no remedy is
    returned as it is. ``sibling_id`` is made by the page, so that the same post twice is one.
    Raises ``keeping.TemporaryOnly``.
    """
    keeping.check(actor)
    with transaction.atomic():
        answer = _locked(answer)
        repeated = _already_written(answer, sibling_id)
        if repeated:
            return repeated
        last = answer.generations.order_by("-created_at").first()
        what = remedy(last, answer.language_model, answer.text)
        if not what:
            return answer
        if answer.children.exists() or (what == "retry" and answer.text):
            text = answer.text if what == "continue" else ""
            answer = _sibling(answer, sibling_id or uuid4(), answer.language_model, text=text)
        generations.enqueue(answer)
        audit.record("answer.retried", actor=actor, about=answer)
    return answer


def regenerate(
    answer: Message, *, actor: User, sibling_id: UUID, language_model: LanguageModel | None = None
) -> Message:
    """Another answer to the same question, by ``language_model`` or the one that wrote this.

    Returns the new one; an answer that is still being written is returned as it is. Raises
    ``keeping.TemporaryOnly``.
    """
    keeping.check(actor)
    with transaction.atomic():
        answer = _locked(answer)
        repeated = _already_written(answer, sibling_id)
        if repeated:
            return repeated
        if answer.generations.filter(state__in=Generation.ACTIVE).exists():
            return answer
        model = language_model or _usual(answer, actor)
        sibling = _sibling(answer, sibling_id, model)
        generations.enqueue(sibling)
        audit.record(
            "answer.regenerated", actor=actor, about=sibling, instead_of=str(answer.pk),
            language_model=str(model.pk),
        )  # fmt: skip
    return sibling


def _locked(answer: Message) -> Message:
    """The answer as it is now; nobody asks, deletes or ends a run of it meanwhile."""
    conversation = conversations.lock(answer.conversation_id)
    found = conversation.messages.select_for_update(of=("self",)).filter(pk=answer.pk)
    now = found.select_related("language_model", "conversation__language_model").first()
    if now is None:
        raise Http404
    return now


def _already_written(answer: Message, sibling_id: UUID | None) -> Message | None:
    """The sibling that the same post made before. Raises ``Http404`` for an id that is taken."""
    found = Message.objects.filter(pk=sibling_id).first() if sibling_id else None
    if found and (found.parent_id, found.role) != (answer.parent_id, answer.role):
        raise Http404
    return found


def _usual(answer: Message, actor: User) -> LanguageModel:
    """The model that wrote the answer; where it is gone, the one of the conversation."""
    wrote = answer.language_model
    if wrote and rights.usable_by(actor).filter(pk=wrote.pk).exists():
        return wrote
    return answer.conversation.language_model


def _sibling(answer: Message, pk: UUID, model: LanguageModel | None, *, text: str = "") -> Message:
    now = timezone.now()
    conversations.touch(answer.conversation, at=now)
    return Message.objects.create(
        id=pk,
        conversation=answer.conversation,
        parent_id=answer.parent_id,
        role=Message.Role.ASSISTANT,
        text=text,
        language_model=model,
        created_at=now,
    )
