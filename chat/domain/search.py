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
_READ: Final = 300
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
    now, owner_key = timezone.now(), str(user.pk)[:8]
    candidates: dict[UUID, _Candidate] = {}
    more = False
    for tsquery, weight in _wanted(query, owner_key).items():
        found, others = _newest(user, query, tsquery)
        more |= others
        for pk, conversation, at in found:
            score = weight + _freshness(at, now)
            candidates.setdefault(conversation, _Candidate()).messages[pk] = score
    titled, others = _titled(user, query, query.tsquery(owner_key, whole=False))
    more |= others
    for pk, at in titled:
        candidates.setdefault(pk, _Candidate()).title = 0.75 + _freshness(at, now) / 2
    best = sorted(candidates.items(), key=lambda item: item[1].score, reverse=True)
    return Found(_hits(user, query, dict(best[:SHOWN])), more=more or len(best) > SHOWN)


def _wanted(query: Query, owner_key: str) -> dict[str, float]:
    """What to ask the index and what it weighs: words that begin so, then the very words."""
    return {
        query.tsquery(owner_key, whole=False): 0.5,
        query.tsquery(owner_key, whole=True): 1.0,
    }


def _newest(
    user: Person, query: Query, tsquery: str
) -> tuple[list[tuple[UUID, UUID, datetime]], bool]:
    """Id, conversation and date of the newest messages that fit; whether there may be others.

    Asked for by the index alone, and let through the door afterwards: joined, the planner may fold
    every text of the person instead.
    """
    limit = _READ if query.must_be_read else _RANKED
    fitting = Message.objects.filter(_MessageHas(Value(tsquery))).order_by("-created_at")
    rows = list(fitting.values_list("pk", "conversation_id", "created_at")[:limit])
    others = len(rows) == limit
    visible = access.conversations_of(user).in_bulk({conversation for _, conversation, _ in rows})
    rows = [row for row in rows if row[1] in visible]
    if query.must_be_read:
        read = _read(user, [pk for pk, _, _ in rows])
        rows = [row for row in rows if row[0] in read and query.fits(read[row[0]].text)]
    return rows, others


def _titled(user: Person, query: Query, tsquery: str) -> tuple[list[tuple[UUID, datetime]], bool]:
    """Id and date of the newest conversations whose title fits, as with messages."""
    fitting = Conversation.objects.filter(_TitleHas(Value(tsquery))).order_by("-updated_at")
    found = list(fitting.values_list("pk", flat=True)[:_RANKED])
    visible = access.conversations_of(user).in_bulk(found).values()
    rows = [
        (one.pk, one.updated_at)
        for one in visible
        if not query.must_be_read or query.fits(one.title)
    ]
    return rows, len(found) == _RANKED


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
