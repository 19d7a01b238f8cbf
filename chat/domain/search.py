"""A person's search over their own conversations: the newest that fit, best first, with excerpts.

What is ranked is bounded, so that a word which is in every message costs no more than a rare one.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final
from uuid import UUID

from django.db.models import BooleanField, Func, QuerySet, Value
from django.utils import timezone

from chat.domain import access, queries
from chat.domain.access import Person
from chat.domain.excerpts import Marker, Part
from chat.domain.queries import Query
from chat.models import Conversation, Message

SHOWN: Final = 20
MESSAGES_SHOWN: Final = 2
_RANKED: Final = 100  # of each kind: with the whole words, with their beginnings, by title
_READ: Final = 150
_FRESH_DAYS: Final = 30


class _MessageHas(Func):
    """Whether a message has these words. Written as the index is."""

    template = (
        "konak_words(chat_message.owner_key, chat_message.text) @@ (%(expressions)s)::tsquery"
    )
    output_field = BooleanField()


class _TitleHas(Func):
    """Whether a title has these words. Written as the index is."""

    template = (
        "konak_words(left(chat_conversation.owner_id::text, 8), chat_conversation.title)"
        " @@ (%(expressions)s)::tsquery"
    )
    output_field = BooleanField()


@dataclass(frozen=True, slots=True)
class Quotation:
    """A message that was found, and the words around what was found in it."""

    message: Message
    parts: list[Part]


@dataclass(frozen=True, slots=True)
class Hit:
    """A conversation that was found: by its title, by messages, or both."""

    conversation: Conversation
    title: list[Part]
    quotations: list[Quotation]


@dataclass(frozen=True, slots=True)
class Found:
    """The best hits. ``more``: there are others. ``asked``: there was something to look for."""

    hits: list[Hit] = field(default_factory=list)
    more: bool = False
    asked: bool = True


@dataclass(slots=True)
class _Candidate:
    """What speaks for a conversation."""

    title: float = 0.0
    messages: dict[UUID, float] = field(default_factory=dict)

    @property
    def score(self) -> float:
        best = max(self.messages.values(), default=0.0)
        return self.title + best + 0.15 * math.log2(1 + len(self.messages))


def find(user: Person, text: str) -> Found:
    """The conversations of ``user`` in which all words of ``text`` stand in one place."""
    query = queries.read(text)
    if not query.terms:
        return Found(asked=False)
    limit = _READ if query.must_be_read else _RANKED
    # The index is asked alone, and what it names goes through the door afterwards: joined, the
    # planner may fold every text of the person instead.
    beginning, whole = (query.tsquery(str(user.pk)[:8], whole=whole) for whole in (False, True))
    partly = _newest(beginning, limit)
    wholly = partly if whole == beginning else _newest(whole, limit)
    titled = Conversation.objects.filter(_TitleHas(Value(beginning))).order_by("-updated_at")
    named = list(titled.values_list("pk", flat=True)[:_RANKED])
    found = {row[0]: (*row[1:], 0.5) for row in partly} | {
        row[0]: (*row[1:], 1.0) for row in wholly
    }
    candidates = _candidates(user, query, found, named)
    best = sorted(candidates.items(), key=lambda item: item[1].score, reverse=True)
    more = len(best) > SHOWN or max(len(partly), len(wholly)) == limit or len(named) == _RANKED
    return Found(_hits(user, query, dict(best[:SHOWN])), more=more)


def _newest(tsquery: str, limit: int) -> list[tuple[UUID, UUID, datetime]]:
    """Id, conversation and date of the newest messages that fit."""
    fitting = Message.objects.filter(_MessageHas(Value(tsquery))).order_by("-created_at")
    return list(fitting.values_list("pk", "conversation_id", "created_at")[:limit])


def _candidates(
    user: Person,
    query: Query,
    found: dict[UUID, tuple[UUID, datetime, float]],
    named: list[UUID],
) -> dict[UUID, _Candidate]:
    """What of it this person may see, and what speaks for it. ``found``: message → conversation,
    date and weight; ``named``: conversations by their title."""
    now = timezone.now()
    about = {*named, *(conversation for conversation, _, _ in found.values())}
    visible = access.conversations_of(user).filter(pk__in=about)
    candidates = {pk: _Candidate() for pk in visible.values_list("pk", flat=True)}
    if query.must_be_read:
        read = _read(user, found)
        found = {pk: row for pk, row in found.items() if pk in read and query.fits(read[pk].text)}
    for pk, (conversation, at, weight) in found.items():
        if conversation in candidates:
            candidates[conversation].messages[pk] = weight + _freshness(at, now)
    for pk, at, title in visible.filter(pk__in=named).values_list("pk", "updated_at", "title"):
        if not query.must_be_read or query.fits(title):
            candidates[pk].title = 0.75 + _freshness(at, now) / 2
    return {pk: one for pk, one in candidates.items() if one.title or one.messages}


def _freshness(at: datetime, now: datetime) -> float:
    """From 1 for what is new towards 0; a half after a month."""
    return 1 / (1 + max(0.0, (now - at).total_seconds()) / 86400 / _FRESH_DAYS)


def _hits(user: Person, query: Query, best: dict[UUID, _Candidate]) -> list[Hit]:
    """The rows of what is shown, each read through the door again, in their order."""
    conversations = access.conversations_of(user).in_bulk(list(best))
    shown = {
        pk: sorted(one.messages, key=one.messages.__getitem__, reverse=True)[:MESSAGES_SHOWN]
        for pk, one in best.items()
    }
    marker = Marker(query.terms)
    messages = _read(user, (pk for pks in shown.values() for pk in pks))
    return [
        Hit(
            conversations[pk],
            marker.around(conversations[pk].title),
            [
                Quotation(messages[one], marker.around(messages[one].text))
                for one in shown[pk]
                if one in messages
            ],
        )
        for pk in best
        if pk in conversations
    ]


def _read(user: Person, pks: Iterable[UUID]) -> dict[UUID, Message]:
    own: QuerySet[Message] = Message.objects.filter(conversation__in=access.conversations_of(user))
    return own.only("conversation_id", "text").in_bulk(list(pks))
