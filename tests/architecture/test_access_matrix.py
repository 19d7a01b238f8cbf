"""Every URL as each of the six: the status, the way on, the ledger; nothing beyond the table."""

from __future__ import annotations

import re
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from typing import Any
from urllib.parse import urlencode
from uuid import uuid4

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import connection, transaction
from django.db.models.functions import Now
from django.http import HttpResponse
from django.test.client import BOUNDARY, MULTIPART_CONTENT, encode_multipart
from django.urls import URLPattern, URLResolver, get_resolver

from accounts.domain import audit
from accounts.models import AuditEntry
from chat.models import Conversation
from tests.architecture import house
from tests.architecture.access_matrix import (
    ACTS,
    BY_ENGINE,
    BY_FILE,
    BY_ITSELF,
    BY_SOCKET,
    DOOR,
    NOT_THERE,
    PEOPLE,
    ROWS,
    Cell,
)

pytestmark = pytest.mark.django_db

# What differs from one answer to the next, whoever asks for whatever.
CHANGING = re.compile(r'value="[A-Za-z0-9]{64}"|"X-CSRFToken": "\w+"|nonce="[^"]+"|[0-9a-f-]{36}')
# It looks at the database from a thread of its own.
IN_THREADS = {"readyz": [pytest.mark.django_db(transaction=True)]}
CELLS = [
    pytest.param(
        name, method, dict(zip(PEOPLE, cells, strict=True)),
        id=f"{name}-{method}", marks=IN_THREADS.get(name, ()),
    )
    for name, method, *cells in ROWS
]  # fmt: skip


def names(patterns: list[URLPattern | URLResolver], inside: str = "") -> Iterator[str]:
    """The name of every URL behind ``patterns``."""
    for pattern in patterns:
        if isinstance(pattern, URLResolver):
            space = f"{inside}{pattern.namespace}:" if pattern.namespace else inside
            yield from names(pattern.url_patterns, space)
        else:
            assert pattern.name, pattern
            yield f"{inside}{pattern.name}"


def ask(at: house.House, name: str, method: str, who: str, **more: Any) -> HttpResponse:
    """One request as one of the six."""
    client = at.browser(who, raise_request_exception=True)
    response = client.generic(method, at.address(name, **more), **_body(at, name, method, who))
    if response.streaming:
        b"".join(response.streaming_content)  # read to its end a file is closed
    return response


def _body(at: house.House, name: str, method: str, who: str) -> dict[str, Any]:
    if method != "POST":
        return {}
    form = at.form(name, who)
    if any(isinstance(value, SimpleUploadedFile) for value in form.values()):
        return {"data": encode_multipart(BOUNDARY, form), "content_type": MULTIPART_CONTENT}
    body = urlencode(form, doseq=True)
    return {"data": body, "content_type": "application/x-www-form-urlencoded"}


def test_every_url_has_its_rows_and_every_row_its_url() -> None:
    urls = list(names(get_resolver().url_patterns))
    assert len(urls) == len(set(urls)) > 20
    rows = [(name, method) for name, method, *_ in ROWS]
    assert len(rows) == len(set(rows))
    assert set(rows) == {(name, method) for name in urls for method in ("GET", "POST")}


@contextmanager
def undone() -> Iterator[None]:
    """The house is afterwards as it was: to build it takes longer than to ask."""
    before = transaction.savepoint()
    yield
    transaction.savepoint_rollback(before)


@pytest.mark.parametrize(("name", "method", "cells"), CELLS)
def test_the_row(name: str, method: str, cells: dict[str, Cell]) -> None:
    at = house.build(name)
    before = AuditEntry.objects.count()
    for who, cell in cells.items():
        # Outside a transaction only what changes nothing is asked.
        with undone() if connection.in_atomic_block else nullcontext():
            response = ask(at, name, method, who)
            assert (who, response.status_code) == (who, cell.status)
            assert response.headers.get("Location", "").startswith(cell.to), who
            assert bool(cell.to) == ("Location" in response.headers), who
            verbs = AuditEntry.objects.order_by("pk").values_list("verb", flat=True)[before:]
            assert (who, *verbs) == (who, *cell.verbs)


REFUSED = {
    (name, method): [
        who
        for who, cell in zip(PEOPLE, cells, strict=True)
        if cell in (NOT_THERE, DOOR) and who != "deactivated"
    ]
    for name, method, *cells in ROWS
    if name in house.ARGUMENTS
}


@pytest.mark.parametrize(
    ("name", "method"), [pytest.param(*row, id="-".join(row)) for row in REFUSED if REFUSED[row]]
)
def test_what_is_foreign_looks_like_what_is_missing(name: str, method: str) -> None:
    at = house.build(name)
    for who in REFUSED[name, method]:
        with undone():
            _looks_missing(at, name, method, who)


def _looks_missing(at: house.House, name: str, method: str, who: str) -> None:
    foreign, missing = (ask(at, name, method, who, id=id) for id in (None, uuid4()))
    assert foreign.status_code == missing.status_code, who
    assert (
        foreign.headers.get("Location", "").partition("?")[0]
        == (missing.headers.get("Location", "").partition("?")[0])
    )
    assert set(foreign.headers) == set(missing.headers)
    assert _settled(foreign) == _settled(missing)


def test_a_used_link_looks_like_one_that_never_was() -> None:
    at = house.build()
    ask(at, "accounts:welcome", "POST", "anonymous")
    used, missing = (
        ask(at, "accounts:welcome", "GET", "anonymous", id=token)
        for token in (at.token, secrets.token_urlsafe(32))
    )
    assert used.status_code == missing.status_code == 404
    assert _settled(used).replace(at.token, "") == _settled(missing).replace(
        missing.request["PATH_INFO"].split("/")[-2], ""
    )


@pytest.mark.parametrize("name", [name for name, method, *_ in ROWS if method == "POST"])
def test_nothing_is_done_without_the_csrf_token(name: str) -> None:
    at = house.build(name)
    before = AuditEntry.objects.count()
    client = at.browser("owner" if name.startswith("chat:") else "administrator",
                        enforce_csrf_checks=True)  # fmt: skip
    assert client.post(at.address(name), at.form(name, "owner")).status_code == 403
    assert AuditEntry.objects.count() == before


@pytest.mark.parametrize("method", ["PUT", "PATCH", "DELETE"])
def test_no_url_knows_another_method(method: str) -> None:
    at = house.build()
    before = AuditEntry.objects.count()
    for name in {name for name, *_ in ROWS}:
        statuses = {ask(at, name, method, who).status_code for who in ("owner", "administrator")}
        assert statuses <= {404, 405}, name
    assert AuditEntry.objects.count() == before


def test_every_verb_of_the_ledger_is_written_by_some_url() -> None:
    written = {verb for _, _, *cells in ROWS for cell in cells for verb in cell.verbs}
    written |= set(ACTS.values()) | BY_SOCKET | BY_ENGINE | BY_FILE
    assert written | BY_ITSELF == audit.VERBS and not written & BY_ITSELF


@pytest.mark.parametrize(("act", "verb"), ACTS.items())
@pytest.mark.parametrize("who", ["owner", "member", "administrator"])
def test_an_act_changes_what_is_one_s_own_and_nothing_else(act: str, verb: str, who: str) -> None:
    at = house.build()
    Conversation.objects.filter(pk=at.asked.conversation.pk).update(
        pinned_at=Now() if act == "unpin" else None,
        archived_at=Now() if act == "unarchive" else None,
    )
    as_it_was = list(Conversation.objects.values("pinned_at", "archived_at", "folder", "cut_at"))
    form = {"conversation": [str(at.asked.conversation.pk)], "act": act}
    if act == "move" and who == "owner":
        form["folder"] = str(at.folder.pk)
    assert at.browser(who).post(at.address("chat:act"), form).status_code == 302
    entry = AuditEntry.objects.order_by("-pk").first()
    assert entry.verb == verb
    assert bool(entry.object_id) == (who == "owner")
    now = list(Conversation.objects.values("pinned_at", "archived_at", "folder", "cut_at"))
    assert (now != as_it_was) == (who == "owner")


def _settled(response: HttpResponse) -> str:
    return CHANGING.sub("·", response.content.decode())
