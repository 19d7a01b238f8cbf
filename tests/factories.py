"""Conversations in any state, made by the house's own verbs."""

from __future__ import annotations

import io
from uuid import UUID, uuid4

from django.db.models import F

from accounts.models import User
from chat.domain import branches, catalogue, connections, generations, messages, removal
from chat.domain.generations import End, Ending, Growth
from chat.models import Conversation, Generation, LanguageModel
from engine_adapter.types import ModelCard

RUNNER = UUID(int=1)


def file(data: bytes, name: str) -> io.BytesIO:
    """A file as a form sends it."""
    sent = io.BytesIO(data)
    sent.name = name
    return sent


def language_model(name: str = "scripted", *, continues: bool = True) -> LanguageModel:
    """A model that the bundled engine tells of."""
    engine = connections.bundled()
    known = LanguageModel.objects.filter(engine=engine, available=True)
    cards = [ModelCard(name=model.name, continues=model.continues) for model in known]
    catalogue.refresh(engine, [*cards, ModelCard(name=name, continues=continues)])
    return LanguageModel.objects.get(engine=engine, name=name)


def asked(
    user: User,
    text: str = "Why is the sky blue?",
    *,
    conversation: Conversation | None = None,
    message_id: UUID | None = None,
    model: LanguageModel | None = None,
) -> messages.Asked:
    """A question that waits for a runner."""
    if conversation is None:
        model = model or LanguageModel.objects.first() or language_model()
    return messages.ask(
        user,
        text,
        message_id=message_id or uuid4(),
        conversation=conversation,
        language_model=model,
    )


def claimed(runner: UUID = RUNNER) -> Generation:
    """The oldest run that waits, now in the hands of ``runner``."""
    [generation] = generations.claim(runner, limit=1)
    return generation


def write(generation: Generation, *texts: str, since: int = 0) -> None:
    """Store ``texts`` as the run's next chunks, as the runner that owns it does."""
    for seq, text in enumerate(texts, since + 1):
        growth = Growth(generation.pk, generation.attempt, seq, text)
        assert generations.append(generation.runner, [growth]) == {generation.pk}


def end(generation: Generation, state: str = Generation.State.DONE, **how: object) -> None:
    """End the run, as the runner that owns it does."""
    ending = Ending(generation.pk, generation.attempt, End(state, **how))
    assert generations.finish(generation.runner, [ending]) == {generation.pk}


def answered(
    user: User,
    question: str = "Why is the sky blue?",
    answer: str = "Rayleigh scattering.",
    *,
    state: str = Generation.State.DONE,
    conversation: Conversation | None = None,
    model: LanguageModel | None = None,
    **how: object,
) -> messages.Asked:
    """A question with an answer whose run has ended in ``state``."""
    result = asked(user, question, conversation=conversation, model=model)
    generation = claimed()
    assert generation.message_id == result.answer.pk
    if answer:
        write(generation, answer)
    end(generation, state, **how)
    result.answer.refresh_from_db()
    return result


def erase(conversation: Conversation) -> None:
    """Delete a conversation, and let the time pass in which it could be brought back."""
    assert removal.remove(conversation.owner, [conversation.pk])
    late = branches.UNDO + 2 * branches.ON_THE_WAY
    Conversation.objects.filter(pk=conversation.pk).update(cut_at=F("cut_at") - late)
    assert branches.erase() >= 1
