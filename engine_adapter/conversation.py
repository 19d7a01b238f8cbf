"""What the requests of one conversation have in common, as a name that tells nothing of it."""

from __future__ import annotations

from hashlib import sha256

from engine_adapter.types import Request


def name_of(request: Request) -> str:
    """A hash of all up to the first question: the same for every question of a conversation, and
    for nobody else's, since the cache domain is part of it."""
    digest = sha256(f"{request.model} {request.cache_salt}".encode())
    for turn in request.turns:
        digest.update(f"\0{turn.role} {turn.content}".encode("utf-8", "replace"))
        if turn.role == "user":
            break
    return digest.hexdigest()
