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
    request = Request(
        model=answer.language_model.name,
        turns=tuple(turns),
        sampling=Sampling(max_tokens=settings.ANSWER_MAX_TOKENS),
        continue_final=bool(written),
        cache_salt=cache_domain(str(answer.conversation.owner_id), answer.language_model.name),
    )
    return Prompt(request, seq=chunks[-1][0] if chunks else 0, has_text=bool(written))


def _role(message: Message) -> Role:
    return "user" if message.role == Message.Role.USER else "assistant"


def cache_domain(user_id: str, model: str) -> str:
    """The domain inside which prefixes may be shared: a keyed hash, so it names nobody."""
    key = hashlib.sha256(b"cache domain:" + settings.SECRET_KEY.encode()).digest()
    return hmac.new(key, f"{user_id}\0{model}".encode(), hashlib.sha256).hexdigest()
