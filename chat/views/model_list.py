"""Which models the page of models shows: all of a small house, a part of a large one."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final
from urllib.parse import urlencode
from uuid import UUID

from django.db.models import Count, Q, Window
from django.db.models.functions import RowNumber

from chat.domain import connections
from chat.models import EngineConnection, LanguageModel

OF_EACH: Final = 50  # models of each engine where several are shown
OF_ONE: Final = 200
_LONGEST: Final = 100
_ORDER: Final = ["-available", "place", "display_name", "name"]


@dataclass(frozen=True, slots=True)
class Query:
    """What is looked for: ``words`` in a name, one ``engine`` alone, one ``page`` of it."""

    words: str = ""
    engine: UUID | None = None
    page: int = 1

    @classmethod
    def of(cls, told: Mapping[str, str]) -> Query:
        """What an address says; nonsense in it says nothing."""
        words = told.get("q", "").replace("\0", "").strip()[:_LONGEST]
        page = told.get("page", "")
        try:
            engine = UUID(told.get("engine", ""))
        except ValueError:
            return cls(words)
        is_page = page.isascii() and page.isdecimal() and len(page) < 7
        return cls(words, engine, max(1, int(page)) if is_page else 1)

    def __str__(self) -> str:
        told = {"q": self.words, "engine": str(self.engine or ""), "page": str(self.page)}
        return urlencode({name: value for name, value in told.items() if value not in ("", "1")})

    @property
    def of_each(self) -> int:
        """How many models of an engine are shown at once."""
        return OF_ONE if self.engine else OF_EACH

    @property
    def first(self) -> int:
        """How many come before the page."""
        return (self.page - 1) * self.of_each


@dataclass(frozen=True, slots=True)
class Section:
    """One engine with the ``models`` of it that are shown, out of ``count``. ``back`` and ``on``
    are where the others are, None where there are none."""

    engine: EngineConnection
    models: list[LanguageModel]
    count: int
    first: int
    back: Query | None
    on: Query | None

    @property
    def last(self) -> int:
        """The place of the last one that is shown."""
        return self.first + len(self.models)


@dataclass(frozen=True, slots=True)
class Shown:
    """The page's list. Two of the same ``shape`` look the same but for how the engines are."""

    query: Query
    sections: list[Section]
    shape: str

    @property
    def is_large(self) -> bool:
        """Whether somebody may want to look for a model in it."""
        many = sum(section.count for section in self.sections) > OF_EACH / 2
        return many or bool(str(self.query))


def shown(query: Query) -> Shown:
    """What the page shows now."""
    rows = connections.every()
    if query.engine:
        rows = [row for row in rows if row.pk == query.engine]
    models: dict[UUID, list[Any]] = {row.pk: [] for row in rows}
    for model in _models(query, rows):
        models[model.engine_id].append(model)
    sections = [_section(query, row, models[row.pk]) for row in rows]
    if query.words:
        sections = [section for section in sections if section.models]
    return Shown(query, sections, _shape(sections))


def _models(query: Query, rows: list[EngineConnection]) -> Any:
    """With ``of``, how many its engine has of what is looked for. Those that are gone come last."""
    found = LanguageModel.objects.filter(engine__in=rows)
    if query.words:
        found = found.filter(
            Q(name__icontains=query.words)
            | Q(display_name__icontains=query.words)
            | Q(display_name_tr__icontains=query.words)
        )
    numbered = found.annotate(
        nth=Window(RowNumber(), partition_by="engine", order_by=_ORDER),
        of=Window(Count("pk"), partition_by="engine"),
    )
    part = numbered.filter(nth__gt=query.first, nth__lte=query.first + query.of_each)
    return part.order_by("nth").prefetch_related("groups", "serves_for", "others__engine")


def _section(query: Query, row: EngineConnection, models: list[Any]) -> Section:
    count = models[0].of if models else 0
    on = back = None
    if query.first + len(models) < count:
        # From the page of all engines it is one engine's first page, which shows more at once.
        on = replace(query, page=query.page + 1) if query.engine else Query(query.words, row.pk)
    if query.page > 1:
        back = replace(query, page=query.page - 1)
    return Section(row, models, count, query.first, back, on)


def _shape(sections: list[Section]) -> str:
    told = [
        (
            *(section.engine.pk, section.engine.name, section.engine.url, section.count),
            *((m.pk, m.named, m.available, m.standing, m.is_default, m.restricted,
               m.serves_for_id, m.reads, m.size_bytes, m.quantization, m.parent, m.reasoning,
               m.vision, m.tools) for m in section.models),
        )
        for section in sections
    ]  # fmt: skip
    return hashlib.blake2b(repr(told).encode(), digest_size=8).hexdigest()
