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
from engine_adapter.remote.signs import SIGNS, VERSION_AT, Reply

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
    facts: list[Fact] = []
    replies: dict[str, Reply | None] = {listing.path: listing}

    async def at(path: str) -> Reply | None:
        if path not in replies:
            replies[path] = None
            with suppress(EngineError):
                replies[path] = await _asked(client, path, timeouts)
        return replies[path]

    for sign in SIGNS:
        reply = await at(sign.path)
        if reply is not None and sign.seen(reply):
            facts.append(Fact(sign.path, reply.status, sign.name, sign.kind))
            if sign.proves:
                break
    # What proves a kind was found last; else the first of the signs that only speak for one.
    kind = None if not facts else facts[-1 if sign.proves else 0].kind
    version = _version(await at(VERSION_AT[kind])) if kind and kind in VERSION_AT else None
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


def _version(reply: Reply | None) -> str | None:
    told = reply.told if reply is not None and isinstance(reply.told, dict) else {}
    version = told.get("version") or told.get("build_info")
    return version[:80] if isinstance(version, str) and version.isprintable() else None
