"""Fills the database of ``deploy/bench search``: COPY first, the indexes of words after it."""

from __future__ import annotations

import importlib
import json
import random
import time
from datetime import timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

from django.core.management import call_command
from django.db import connection

from accounts.models import User
from chat.models import LanguageModel
from tests import factories
from tests.bench import search_rows
from tests.bench.client import Json
from tests.bench.measuring import tell

MANY_CONVERSATIONS = 10_000
MANY = UUID(int=1)
SEED = 20261130


def ensure(note: Path, messages: int, people: int) -> Json:
    """What building took; where it is built already, what it took then."""
    call_command("migrate", verbosity=0)
    call_command("collectstatic", interactive=False, verbosity=0)
    if note.exists():
        built: Json = json.loads(note.read_text())
        return built
    owners = [UUID(int=number << 96 | number) for number in range(2, people + 2)]
    for pk in (MANY, *owners):
        User.objects.create(id=pk, name=f"Person {pk.int}", email=f"{pk.int}@example.org")
    built = _fill(owners, messages, factories.language_model())
    note.write_text(json.dumps(built))
    return built


def _fill(owners: list[UUID], messages: int, model: LanguageModel) -> Json:
    chance = random.Random(SEED)
    words = search_rows.Words(chance)
    talks = search_rows.talks(owners, messages, chance)
    drop, make = _indexes()
    with connection.cursor() as cursor:
        cursor.execute(drop)
        began = time.monotonic()
        _copy_conversations(cursor, talks, words, model)
        into = (
            "COPY chat_message (id, conversation_id, parent_id, role, text, created_at) FROM STDIN"
        )
        with cursor.copy(into) as copy:
            for talk in talks:
                for row in search_rows.rows(talk, words, chance):
                    copy.write_row(row)
        copied = time.monotonic()
        tell(f"{messages:,} messages copied in {copied - began:.0f} s; indexing")
        cursor.execute("SET maintenance_work_mem = '512MB'")
        cursor.execute(make)
        indexed = time.monotonic()
        cursor.execute("VACUUM ANALYZE")
        cursor.execute("CHECKPOINT")
        sizes = {
            name: _size(cursor, name)
            for name in ("chat_message", "messages_by_words", "conversations_by_words")
        }
    return {
        "messages": messages,
        "people": len(owners),
        "copy_s": round(copied - began, 1),
        "index_s": round(indexed - copied, 1),
        "analyze_s": round(time.monotonic() - indexed, 1),
        "size_mb": sizes,
    }


def _copy_conversations(
    cursor: Any, talks: list[search_rows.Talk], words: search_rows.Words, model: LanguageModel
) -> None:
    columns = "id, owner_id, title, titled_by, title_due, language_model_id, created_at, updated_at"
    chance = random.Random(SEED)
    of_one = [
        search_rows.Talk(
            UUID(int=(number + 1) << 96), MANY, search_rows.EPOCH - timedelta(hours=number), 0
        )
        for number in range(MANY_CONVERSATIONS)
    ]
    with cursor.copy(f"COPY chat_conversation ({columns}) FROM STDIN") as copy:
        for talk in (*of_one, *talks):
            title = words.text(3, 7)[:60]
            used = talk.began + timedelta(minutes=talk.messages + chance.randrange(60))
            copy.write_row(
                (talk.id, talk.owner, title, "person", False, model.pk, talk.began, used)
            )


def _indexes() -> tuple[str, str]:
    """How the migration drops and makes them."""
    module = importlib.import_module("chat.migrations.0003_search")
    operation = module.Migration.operations[-1]
    return operation.reverse_sql, operation.sql


def _size(cursor: Any, name: str) -> float:
    cursor.execute("SELECT pg_relation_size(%s::regclass) / 1048576.0", [name])
    return round(float(cursor.fetchone()[0]), 1)
