"""What is said of a model on its way in: why not, what to do next, and whether it would fit."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from django.utils.functional import Promise
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from chat.domain import reasons
from chat.domain.sizes import size
from chat.models import ModelArrival
from engine_adapter.reasons import from_json

_SENTENCES: Final[dict[str, str | Promise]] = {
    # The file's name and place
    "elsewhere": _("The folder of the engine’s models is not on this machine."),
    "name": _("This cannot be the name of a file here: write it without a path."),
    "suffix": _("The name must end in .gguf."),
    "long_name": _("The name is longer than %(most)s bytes."),
    "taken": _("There is a model named %(name)s already. Remove that one first, or name this one"
               " otherwise."),
    "begun": _("%(name)s is on its way already. Look at the list below."),
    "gone": _("%(name)s is not there any more. Somebody else may have taken it."),
    "moved_on": _("Somebody else was faster: it is not as it was on your page."),
    "empty": _("The file is empty."),
    "disk": _("The disk is too full: it needs %(need_bytes)s, %(free_bytes)s are free for it."),
    "full": _("The disk is full."),
    "system": _("The file could not be read or written (%(words)s)."),
    "lost": _("The part that had come is gone from the disk. Cancel it and begin anew."),
    "busy": _("Somebody else is writing to it just now."),
    "offset": _("This piece does not follow the last one."),
    "in_use": _("%(name)s is in memory or in use. Unload it first."),
    "is_base": _("%(name)s is under an adapter. Remove the adapter first."),
    "is_default": _("New chats begin with %(name)s. Let them begin with another model first."),
    "not_said": _("The engine does not say whether the model is in use, so it stays. Try again"
                  " when the engine answers."),
    # What was fetched
    "off": _("Fetching from outside is switched off on this machine."),
    "address": _("This is no address of a file."),
    "not_https": _("The address, or one that it sends on to, is not https."),
    "private": _("The address, or one that it sends on to, belongs to this machine or to a network"
                 " of your own. Only the open internet may be asked."),
    "redirects": _("The address sends on again and again."),
    "host": _("No name server knows the host. Check the spelling."),
    "closed": _("Nothing listens at this address."),
    "no_way": _("There is no way through the network to this address."),
    "silent": _("The server says nothing any more."),
    "certificate": _("The server’s certificate is not trusted: it has expired, is for another"
                     " host, or was made by an authority this machine does not know."),
    "tls": _("The server speaks no https."),
    "proxy": _("The proxy that everything goes through (KONAK_OUTGOING_PROXY) does not answer. Ask"
               " who keeps the network."),
    "proxy_key": _("The proxy asks for a name and a password. Who keeps this machine can set both"
                   " in KONAK_OUTGOING_PROXY."),
    "proxy_no": _("The proxy gives no way to this host: it forbids it, or finds no such host. Ask"
                  " who keeps the proxy."),
    "hub_asks": _("The hub hands this file out only to people it knows: the repository asks for"
                  " consent, is private, or is spelt otherwise. Accept its terms at the hub with an"
                  " account of your house, make a token there that may read, and let who keeps this"
                  " machine set it as KONAK_HUB_TOKEN. Or fetch the file yourself and upload it."),
    "hub_token": _("The hub does not know the token of this house: it has expired, was withdrawn or"
                   " is incomplete. Who keeps this machine can set another in KONAK_HUB_TOKEN."),
    "hub_terms": _("This repository asks for consent, and the account of this house’s token has"
                   " not given it, or may not read there. Sign in at the hub with that account,"
                   " accept the terms of the repository, and fetch it again."),
    "key": _("The server asks who is there. Fetch the file yourself and upload it."),
    "path": _("There is no such file at the server."),
    "refused_there": _("The server refuses to hand the file out."),
    "packed": _("The server sends it packed although it was asked for plain."),
    "no_size": _("The server does not say how large the file is."),
    "odd_size": _("The server names a size that no model has."),
    "changes": _("The file changes at the server again and again."),
    "slow": _("The server sends so little that it would take weeks."),
    "crowded": _("The server has too much to do."),
    "failed": _("The server answers that something went wrong in it."),
    "broke": _("The connection broke off again and again."),
    "changed": _("The file has changed at the server, so it is being fetched from the beginning."),
    "anew": _("The server cannot go on in the middle, so it is being fetched from the beginning."),
    "no_pull": _("This engine fetches no models when told."),
    "not_pulled": _("The engine refuses: it finds no model of this name."),
    # What is in it
    "size": _("The file has another size than was announced."),
    "not_gguf": _("This is not a GGUF file."),
    "checksum": _("Its SHA-256 is not the expected one. The file is damaged, or another one."),
    "not_taken": _("The engine cannot use this file."),
    "engine_away": _("The engine does not answer, so nobody looks into the file. It is tried again"
                     " every minute."),
}  # fmt: skip


def sentence(code: str, facts: Mapping[str, Any] | None = None) -> str:
    """Why it is not done, and what to do next."""
    told = dict(facts or {})
    for name in ("need", "free"):
        if name in told:
            told[f"{name}_bytes"] = size(told[name])
    known = _SENTENCES.get(code, _SENTENCES["failed"])
    own = str(known) % told if told else str(known)
    reason = from_json(told.get("why"))
    return f"{own} {reasons.sentence(reason)}" if reason else own


@dataclass(frozen=True, slots=True)
class Told:
    """What the list says of an arrival: why it stands still, what the engine found in it, whether
    it would fit; and how far it is, in hundredths, where that can be said."""

    trouble: str
    fit: str
    hundredths: int | None
    received: str
    total: str


def of(row: ModelArrival) -> Told:
    """In the reader's language."""
    ready = row.state == ModelArrival.State.READY
    total = row.total_bytes
    return Told(
        trouble=sentence(row.trouble, row.facts) if row.trouble else "",
        fit=fit(row.facts.get("outlook")) if ready else "",
        hundredths=min(100, 100 * row.received_bytes // total) if total else None,
        received=size(row.received_bytes),
        total=size(total) if total else "",
    )


def fit(outlook: Mapping[str, Any] | None) -> str:
    """Whether it would load now."""
    if not outlook:
        return gettext("How much memory it takes is only known when it is loaded.")
    told = {"need": size(outlook["need_bytes"]), "free": size(outlook["free_bytes"])}
    match outlook["verdict"]:
        case "fits":
            return gettext("It needs %(need)s of memory, %(free)s are free: it will load.") % told
        case "makes_room":
            text = gettext(
                "It needs %(need)s of memory, %(free)s are free: it will load once other models,"
                " which nobody is using, are unloaded. That is done for it."
            )
        case "waits":
            text = gettext(
                "It needs %(need)s of memory, %(free)s are free: it will not load while other"
                " models are in use."
            )
        case _:
            text = gettext(
                "It needs %(need)s of memory, %(free)s are free: it will not load on this machine."
                " Fewer slots or a shorter context need less."
            )
    return text % told
