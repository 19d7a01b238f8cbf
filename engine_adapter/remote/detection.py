"""Looks at an address and says which kind of engine answers there, and by what it knows.

Asks with GET only, changes nothing, and takes no word for more than it says: half of the engines
imitate another one's routes.
"""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from engine_adapter.errors import EngineError
from engine_adapter.remote import client as line
from engine_adapter.remote import faults
from engine_adapter.remote.client import Timeouts
from engine_adapter.remote.kinds import Kind
from engine_adapter.remote.signs import SIGNS, Reply

if TYPE_CHECKING:
    import httpx

BRIEFLY = Timeouts(connect_s=5, first_s=10, between_s=10, reply_s=10)


@dataclass(frozen=True, slots=True)
class Fact:
    """What ``path`` answered: its HTTP status, and the ``sign`` of ``kind`` that was seen in it."""

    path: str
    status: int
    sign: str
    kind: Kind | None


@dataclass(frozen=True, slots=True)
class Found:
    """What answers at an address.

    ``kind`` is None where nothing was recognised, ``version`` where none is told. ``facts`` are
    in the order in which they were found; ``error`` is why it cannot be used as it is, with its
    cause, and None where its models can be listed.
    """

    kind: Kind | None
    version: str | None
    facts: tuple[Fact, ...]
    error: EngineError | None


async def look(
    base_url: str,
    *,
    api_key: str | None = None,
    ca_file: str | None = None,
    timeouts: Timeouts = BRIEFLY,
) -> Found:
    """Look at ``base_url``. The key is sent along: it is for that address that it was entered.

    Raises ``ValueError`` with a sentence for an address, key or file that cannot be used.
    """
    client = line.open_client(
        base_url.rstrip("/").removesuffix("/v1"),
        api_key=api_key,
        ca_file=ca_file,
        timeouts=timeouts,
    )
    async with client:
        try:
            listing = await _asked(client, "v1/models", timeouts)
        except EngineError as error:
            return Found(None, None, (), error)
        return await _recognised(client, listing, timeouts)


async def _recognised(client: httpx.AsyncClient, listing: Reply, timeouts: Timeouts) -> Found:
    facts = []
    replies = {listing.path: listing}
    version = None
    for sign in SIGNS:
        if sign.path not in replies:
            with suppress(EngineError):
                replies[sign.path] = await _asked(client, sign.path, timeouts)
        reply = replies.get(sign.path)
        if reply is None or not sign.seen(reply):
            continue
        facts.append(Fact(sign.path, reply.status, sign.name, sign.kind))
        version = _version(reply) or version
        if sign.proves:
            return Found(sign.kind, version, tuple(facts), _trouble(listing, sign.kind))
    kind = next((fact.kind for fact in facts), None)
    return Found(kind, version, tuple(facts), _trouble(listing, kind))


async def _asked(client: httpx.AsyncClient, path: str, timeouts: Timeouts) -> Reply:
    response, body = await line.fetch(client, path, within_s=timeouts.reply_s)
    told: Any = None
    with suppress(ValueError, RecursionError):
        told = json.loads(body)
    return Reply(path, response.status_code, response.headers, body, told)


def _trouble(listing: Reply, kind: Kind | None) -> EngineError | None:
    """Why the models cannot be listed."""
    if listing.status != 200:
        error = faults.from_reply(listing.status, listing.headers, listing.body)
        if listing.status == 404:  # no model was asked for: it is the list that is not there
            error.because("path")
        return None if kind == "ollama" and listing.status == 404 else error
    is_list = isinstance(listing.told, dict) and isinstance(listing.told.get("data"), list)
    if is_list or kind is not None:
        return None
    return faults.instead_of_stream(listing.body)


def _version(reply: Reply) -> str | None:
    told = reply.told if isinstance(reply.told, dict) else {}
    version = told.get("version") or told.get("build_info")
    return version[:80] if isinstance(version, str) and version.isprintable() else None
