"""From the path of a conversation to what an engine is asked."""

from __future__ import annotations

import hashlib
import hmac
from dataclasses import dataclass

from django.conf import settings

from chat.domain import generations, tree
from chat.models import Generation, Message
from engine_adapter.types import Request, Role, Sampling, Turn


@dataclass(frozen=True, slots=True)
class Prompt:
    """The request, and where the run's stored text stands."""

    request: Request
    seq: int
    has_text: bool


def build(generation: Generation) -> Prompt:
    """The whole path as turns; text already written becomes the start of the answer."""
    answer = generation.message
    if answer.language_model is None:
        raise ValueError("an answer to be written has a model")
    chunks = generations.chunks_after(generation.pk)
    written = answer.text + "".join(text for _, text in chunks)
    before = tree.path(answer)[:-1]
    turns = [Turn(_role(m), m.text) for m in before if m.text]
    if written:
        turns.append(Turn("assistant", written))
    owner = str(answer.conversation.owner_id)
    request = Request(
        model=answer.language_model.name,
        turns=tuple(turns),
        sampling=Sampling(max_tokens=settings.ANSWER_MAX_TOKENS),
        continue_final=bool(written),
        cache_salt=cache_domain(owner, answer.language_model.name),
        user=share(owner),
        deadline_s=settings.ANSWER_MAX_SECONDS,
    )
    return Prompt(request, seq=chunks[-1][0] if chunks else 0, has_text=bool(written))


def _role(message: Message) -> Role:
    return "user" if message.role == Message.Role.USER else "assistant"


def cache_domain(user_id: str, model: str) -> str:
    """The domain inside which prefixes may be shared."""
    return _sealed("cache domain", f"{user_id}\0{model}")


def share(user_id: str) -> str:
    """Whose share of an engine a request counts against: one for all a person's models, so that
    many conversations weigh as one person."""
    return _sealed("share", user_id)


def _sealed(purpose: str, words: str) -> str:
    """A hash with a key of its own for each purpose: it names nobody, and no two can be joined."""
    key = hashlib.sha256(f"{purpose}:{settings.SECRET_KEY}".encode()).digest()
    return hmac.new(key, words.encode(), hashlib.sha256).hexdigest()
