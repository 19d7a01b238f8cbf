"""Rows of several tables that one written-out statement joins.

Django's own way to join them takes longer to put a statement together than the database to run it.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

from django.db import DEFAULT_DB_ALIAS, connection, models


@cache
def columns(**tables: type[models.Model]) -> str:
    """What to select: every column of each table, by the name that the statement gives it."""
    return ", ".join(
        f'{name}."{field.column}"'
        for name, model in tables.items()
        for field in model._meta.concrete_fields
    )


def rows(
    statement: str, values: Sequence[Any], *tables: type[models.Model]
) -> list[tuple[Any, ...]]:
    """One object a table for each row of a statement that selects their ``columns`` in order."""
    with connection.cursor() as cursor:
        cursor.execute(statement, values)
        return [tuple(_objects(row, tables)) for row in cursor.fetchall()]


def _objects(row: Sequence[Any], tables: Sequence[type[models.Model]]) -> list[Any]:
    found, start = [], 0
    for model in tables:
        names, converters = _fields(model)
        values = list(row[start : start + len(names)])
        for place, field in converters:
            values[place] = field.from_db_value(values[place], None, connection)
        found.append(model.from_db(DEFAULT_DB_ALIAS, names, values))
        start += len(names)
    return found


@cache
def _fields(model: type[models.Model]) -> tuple[list[str], list[tuple[int, Any]]]:
    """The names of a table's fields, and those whose values are not as the database gives them."""
    fields = list(enumerate(model._meta.concrete_fields))
    converted = [(place, field) for place, field in fields if hasattr(field, "from_db_value")]
    return [field.attname for _, field in fields], converted
