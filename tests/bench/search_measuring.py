"""Asks the database of ``deploy/bench search`` as everybody, and tells how long answers took."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator
from urllib.parse import urlencode
from uuid import UUID

from django.db import connection
from django.test import Client

from accounts.models import User
from chat.domain import conversations, search
from chat.models import Message
from tests.bench import search_rows
from tests.bench.client import Json
from tests.bench.figures import percentile
from tests.bench.search_building import MANY, SEED
from tests.people import browser

LIMITS_MS = {"search": 100.0, "sidebar": 50.0}
WRITES = 200


def measure(people: int, asks: int) -> Json:
    """Each kind of question as each person, ``asks`` times; then the sidebar; then writing."""
    chance = random.Random(SEED + 1)
    words = search_rows.Words(random.Random(SEED))
    users = list(User.objects.exclude(pk=MANY).order_by("pk")[:people])
    domain: dict[str, list[float]] = {}
    page: dict[str, list[float]] = {}
    found: dict[str, int] = {}
    search.find(users[0], "warm")
    for user in users:
        client = browser(user)
        for kind, asked in _questions(words, chance, asks):
            began = time.perf_counter()
            hits = search.find(user, asked).hits
            domain.setdefault(kind, []).append((time.perf_counter() - began) * 1000)
            found[kind] = found.get(kind, 0) + bool(hits)
            address = f"/search/?{urlencode({'q': asked})}"
            page.setdefault(kind, []).append(_timed(lambda c=client, a=address: _got(c, a)))
    return {
        "limits_ms": LIMITS_MS,
        "search": {kind: _figures(values) for kind, values in domain.items()}
        | {"all": _figures([value for values in domain.values() for value in values])},
        "search page": {kind: _figures(values) for kind, values in page.items()}
        | {"all": _figures([value for values in page.values() for value in values])},
        "found something": found,
        "sidebar": _sidebar(),
        "writing": _writing(),
    }


def _questions(
    words: search_rows.Words, chance: random.Random, asks: int
) -> Iterator[tuple[str, str]]:
    every = words.all
    for _ in range(asks):
        common, middle = every[chance.randrange(3)], every[chance.randrange(50, 2000)]
        yield "common word", common
        yield "rare word", every[chance.randrange(20_000, len(every))]
        yield "two words", f"{common} {middle}"
        yield "two common words", f"{every[0]} {every[1]}"
        yield "prefix", every[chance.randrange(200, 20_000)][:4]
        yield "one letter", every[chance.randrange(2000)][:1]
        yield "phrase", f'"{common} {every[chance.randrange(3, 20)]}"'
        yield "without", f"{middle} -{common}"
        yield "two kanji", words.kanji(chance)
        yield "four kanji", words.kanji(chance) + words.kanji(chance)
        yield "nothing", "qwxqwx"


def _got(client: Client, address: str) -> None:
    response = client.get(address, headers={"HX-Request": "true"})
    assert response.status_code == 200


def _timed(act: Callable[[], object]) -> float:
    began = time.perf_counter()
    act()
    return (time.perf_counter() - began) * 1000


def _sidebar() -> Json:
    many = User.objects.get(pk=MANY)
    client = browser(many)
    client.get("/")
    return {
        "list": _figures([_timed(lambda: conversations.sections(many)) for _ in range(100)]),
        "whole page": _figures([_timed(lambda: client.get("/")) for _ in range(100)]),
    }


def _writing() -> Json:
    """The end of an answer as the runner writes it, with the index of words and as if without."""
    pks: list[UUID] = list(
        Message.objects.filter(role="assistant")
        .order_by("-created_at")[:WRITES]
        .values_list("pk", flat=True)
    )
    text = Message.objects.get(pk=pks[0]).text
    kept = [_timed(lambda pk=pk: _write(pk, f"{text} {pk}")) for pk in pks]
    with connection.cursor() as cursor:
        cursor.execute("SELECT konak_words('k', %s)", [text])
        words = [_timed(lambda: cursor.execute("SELECT konak_words('k', %s)", [text])) for _ in pks]
    return {"characters": len(text), "update": _figures(kept), "folding alone": _figures(words)}


def _write(pk: UUID, text: str) -> None:
    Message.objects.filter(pk=pk).update(text=text)


def _figures(values: list[float]) -> Json:
    shares = {"p50_ms": 0.5, "p95_ms": 0.95, "max_ms": 1.0}
    return {name: round(percentile(values, share), 2) for name, share in shares.items()}


def table(result: Json) -> str:
    """For people."""
    lines = [
        f"{result['messages']:,} messages of {result['people']} people: copied in "
        f"{result['copy_s']} s, indexed in {result['index_s']} s; MB: {result['size_mb']}",
        "",
        f"{'ms':34}{'p50':>9}{'p95':>9}{'max':>9}",
    ]
    for part in ("search", "search page", "sidebar", "writing"):
        for kind, figures in result[part].items():
            if isinstance(figures, dict):
                row = "".join(f"{figures[name]:9.1f}" for name in ("p50_ms", "p95_ms", "max_ms"))
                lines.append(f"{part + ': ' + kind:34}{row}")
    return "\n".join(lines)
