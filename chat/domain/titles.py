"""Names for conversations: the first words at once, a better one from the model in idle time."""

from __future__ import annotations

from typing import Final

from django.db import transaction

from chat import events
from chat.domain import prompts, rights, serving, tree, versions
from chat.models import Conversation, Generation, Message
from engine_adapter.types import Request, Sampling, Turn

LENGTH: Final = 60
# What turns the direction of all that follows, also outside of a title.
_UNTURNED: Final = dict.fromkeys([*range(0x202A, 0x202F), *range(0x2066, 0x206A)])
_BACKGROUND: Final = 10
_EXCERPT: Final = 600
_DEADLINE_S: Final = 50.0  # a task names five, one after the other, and keeps a thread
_INSTRUCTION: Final = (
    "Write a short title, at most six words, for the conversation below. "
    "Use the language of the conversation. Reply with the title only."
)


def tidy(text: str, *, length: int = 200) -> str:
    """One line of at most ``length`` characters, cut between words where that is possible."""
    line = " ".join(text.translate(_UNTURNED).split())
    if len(line) <= length:
        return line
    cut = line[: length - 1]
    head, _, _ = cut.rpartition(" ")
    return (head if len(head) > length // 2 else cut).rstrip(" ,;:.-") + "…"


def first_words(question: str) -> str:
    """The title a conversation starts with."""
    return tidy(question, length=LENGTH)


def due(*, limit: int) -> list[Conversation]:
    """Conversations whose first answer is done and that their model, if it is there, may name."""
    return list(
        Conversation.objects.filter(
            serving.there("language_model__"),
            title_due=True,
            cut_at=None,
            titled_by=Conversation.TitledBy.FIRST_WORDS,
            messages__generations__state=Generation.State.DONE,
        )
        .select_related("language_model__engine")
        .order_by("updated_at")
        .distinct()[:limit]
    )


def build(conversation: Conversation) -> Request | None:
    """The request that asks for a title; ``None`` when there is nothing to name."""
    leaf = tree.leaf(conversation)
    path = tree.path(leaf)[:2] if leaf else []
    if not path or not rights.may_use(conversation.owner_id, conversation.language_model):
        return None
    speakers = {Message.Role.USER: "Question", Message.Role.ASSISTANT: "Answer"}
    excerpt = "\n".join(
        f"{speakers[Message.Role(m.role)]}: {tidy(m.text, length=_EXCERPT)}" for m in path
    )
    owner = str(conversation.owner_id)
    runs = versions.running(conversation.language_model)
    return Request(
        model=runs.name,
        model_sha256=runs.sha256,
        turns=(Turn("system", _INSTRUCTION), Turn("user", excerpt)),
        sampling=Sampling(temperature=0.2, max_tokens=24, stop=("\n\n",)),
        priority=_BACKGROUND,
        cache_salt=prompts.cache_domain(owner, conversation.language_model.name),
        public_turns=1,
        user=prompts.share(owner),
        deadline_s=_DEADLINE_S,
    )


def settle(conversation: Conversation, words: str) -> None:
    """Take the model's words, unless they are of no use or the person was faster."""
    title = _usable(words)
    renamed = {"title": title, "titled_by": Conversation.TitledBy.MODEL} if title else {}
    with transaction.atomic():
        changed = Conversation.objects.filter(
            pk=conversation.pk, titled_by=Conversation.TitledBy.FIRST_WORDS
        ).update(title_due=False, **renamed)
        if changed and renamed:
            events.tell_on_commit(
                events.Titled(owner=str(conversation.owner_id), conversation=str(conversation.pk))
            )


def _usable(words: str) -> str:
    """The title in what a model says; empty where it says something else."""
    line = next((part.strip() for part in words.splitlines() if part.strip()), "")
    for prefix in ("title:", "başlık:"):
        if line.lower().startswith(prefix):
            line = line[len(prefix) :]
    if line.endswith(":"):  # an announcement ("Here is a title:") of what did not come
        return ""
    title = line.strip(" \"'“”‘’*#`_.:-")
    return title if 2 < len(title) <= LENGTH else ""
