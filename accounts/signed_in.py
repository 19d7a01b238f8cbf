"""Where a person is signed in: the browsers, and ending one or all others of them."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from datetime import datetime

from django.db import transaction
from django.utils import timezone

from accounts.models import Session, User
from accounts.sessions import ADDRESS, AGENT, SessionStore
from accounts.signals import sessions_ended


@dataclass(frozen=True)
class SignedIn:
    """A browser somebody is signed in with. ``reference`` names it and opens nothing."""

    reference: str
    agent: str
    address: str
    started_at: datetime
    used_at: datetime
    is_this: bool


def reference_of(session_key: str) -> str:
    """A name for a session that may stand in a page: its key, which opens it, may not."""
    return hashlib.sha256(f"session reference {session_key}".encode()).hexdigest()[:32]


def signed_in(user: User, *, this: str | None) -> list[SignedIn]:
    """Where ``user`` is signed in, this browser (its key is ``this``) first, then the last used."""
    rows = user.sessions.filter(expire_date__gt=timezone.now())
    found = [_signed_in(row, this) for row in rows]
    return sorted(found, key=lambda each: (each.is_this, each.used_at), reverse=True)


def _signed_in(row: Session, this: str | None) -> SignedIn:
    data = row.get_decoded()
    return SignedIn(
        reference=reference_of(row.session_key),
        agent=data.get(AGENT, ""),
        address=data.get(ADDRESS, ""),
        started_at=row.started_at,
        used_at=row.used_at,
        is_this=row.session_key == this,
    )


def end_one(user: User, reference: str) -> bool:
    """End the session with this reference; once that is committed its sockets hear of it."""
    keys = user.sessions.values_list("session_key", flat=True)
    return bool(_end(user, [key for key in keys if reference_of(key) == reference]))


def end_others(user: User, *, keeping: str | None) -> int:
    """End every session of ``user`` but the one with the key ``keeping``. How many there were."""
    others = user.sessions.exclude(session_key=keeping)
    return _end(user, list(others.values_list("session_key", flat=True)))


def _end(user: User, keys: list[str]) -> int:
    ended, _ = user.sessions.filter(session_key__in=keys).delete()
    if keys:
        transaction.on_commit(
            lambda: sessions_ended.send(
                sender=SessionStore, user_id=str(user.pk), session_keys=keys
            )
        )
    return ended
