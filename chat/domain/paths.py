"""The part of a path that one page shows. A long conversation is read a page at a time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from chat.domain import answers, tree
from chat.domain.answers import Reading
from chat.models import Conversation, Message

SIZE: Final = 30
# What stands above a message that somebody came for, so that it is seen in its place.
CONTEXT: Final = 6


@dataclass(frozen=True, slots=True)
class Page:
    """Some messages of the path that ends with ``leaf``, oldest first."""

    readings: list[Reading]
    leaf: Message | None

    @property
    def earlier(self) -> Message | None:
        """The first message shown, when there are others before it."""
        first = self.readings[0].message if self.readings else None
        return first if first and first.parent_id else None

    @property
    def later(self) -> Message | None:
        """The last message shown, when there are others after it."""
        last = self.readings[-1].message if self.readings else None
        return last if last and self.leaf and last.pk != self.leaf.pk else None

    @property
    def active(self) -> Reading | None:
        """The answer on this page that is being written."""
        return next((reading for reading in self.readings if reading.is_active), None)


def newest(conversation: Conversation) -> Page:
    """The end of the path to the newest message."""
    leaf = tree.leaf(conversation)
    return Page(answers.read(tree.path(leaf, limit=SIZE)) if leaf else [], leaf)


def through(message: Message) -> Page:
    """The page that shows ``message``, on the path to the newest message below it."""
    leaf = tree.leaf_below(message)
    under = tree.descent(message, leaf, limit=SIZE)
    over = tree.path(message, limit=max(CONTEXT, SIZE - len(under)))
    return Page(answers.read(over + under), leaf)


def upto(message: Message, leaf: Message | None = None, *, including: bool) -> Page:
    """The page that ends with ``message``, or just before it, on the way to ``leaf``."""
    found = tree.path(message, limit=SIZE + 1)
    leaf = leaf or tree.leaf_below(message)
    return Page(answers.read(found if including else found[:-1]), leaf)


def since(message: Message, leaf: Message | None = None, *, including: bool) -> Page:
    """The page that begins with ``message``, or just after it, on the way to ``leaf``.

    Without ``leaf`` the way leads to the newest message below.
    """
    leaf = leaf or tree.leaf_below(message)
    found = tree.descent(message, leaf, limit=SIZE)
    return Page(answers.read([message, *found] if including else found), leaf)
