"""From the path of a conversation to what an engine is asked."""

from __future__ import annotations

import hashlib
import hmac
from dataclasses import dataclass
from typing import Final

from django.conf import settings

from chat.domain import allowance, generations, rights, tree, versions
from chat.models import Generation, LanguageModel, Message
from engine_adapter.types import Request, Role, Sampling, Turn

_BYTES_A_TOKEN: Final = 16


@dataclass(frozen=True, slots=True)
class Prompt:
    """The request, and where the run's stored text stands."""

    request: Request
    seq: int
    has_text: bool
    has_thought: bool = False


def build(generation: Generation, *, is_new: bool = False) -> Prompt:
    """The path as turns; text already written becomes the start of the answer. Of a new run, which
    was never claimed before, there is none to look for.

    Of a path that is longer than the model can read no more is loaded than it takes for the engine
    to say so. Raises ``rights.NotAllowed`` where the model is not, or no longer, for the owner.
    """
    answer = generation.message
    model = answer.language_model
    if model is None:
        raise ValueError("an answer to be written has a model")
    rights.check(answer.conversation.owner_id, model)
    runs = versions.running(model)
    chunks = generations.chunks_after(generation.pk) if not is_new else []
    of_this_run = "".join(text for _, text in chunks)
    written = answer.text + of_this_run
    most_bytes = _most_bytes(model)
    path = tree.path(answer, most_bytes=most_bytes, with_models=False)[:-1]
    turns = opening(model) + _turns(path)
    if written:
        turns.append(Turn("assistant", written))
    owner = str(answer.conversation.owner_id)
    request = Request(
        model=runs.name,
        model_sha256=runs.sha256,
        turns=tuple(turns),
        sampling=sampling(model, max(1, allowance.left(written, of_this_run=of_this_run))),
        continue_final=bool(written),
        cache_salt=cache_domain(owner, model.name),
        public_turns=len(opening(model)),
        user=share(owner),
        deadline_s=settings.ANSWER_MAX_SECONDS,
    )
    return Prompt(
        request,
        seq=chunks[-1][0] if chunks else 0,
        has_text=bool(written),
        has_thought=bool(answer.reasoning or (chunks and generations.has_thought(generation.pk))),
    )


def opening(model: LanguageModel) -> list[Turn]:
    """What the administrators tell the model before anybody speaks. It is nobody's own."""
    return [Turn("system", model.instruction)] if model.instruction else []


def sampling(model: LanguageModel, max_tokens: int) -> Sampling:
    """As the administrators set it; what they left open is the engine's."""
    return Sampling(temperature=model.temperature, top_p=model.top_p, max_tokens=max_tokens)


def _turns(messages: list[Message]) -> list[Turn]:
    """One turn a speaker: an answer that was never written leaves two questions in a row, which
    many templates refuse."""
    turns: list[Turn] = []
    for message in filter(lambda m: m.text, messages):
        role, text = _role(message), message.text
        if turns and turns[-1].role == role:
            text = f"{turns.pop().content}\n\n{text}"
        turns.append(Turn(role, text))
    return turns


def _most_bytes(model: LanguageModel) -> int | None:
    """More text than this fits into no context: a token has far fewer bytes on average."""
    return model.reads * _BYTES_A_TOKEN if model.reads else None


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
