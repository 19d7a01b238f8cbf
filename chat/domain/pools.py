"""Pools: a model that people see, and others that serve for it. Put together and taken apart here.

A model that serves for another is nobody's by itself: its own rights and settings rest.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import combinations
from typing import Final

from django.db import transaction
from django.db.models import Min, OuterRef, Q, QuerySet, Subquery
from django.db.models.functions import Coalesce
from django.utils.translation import gettext as _

from accounts.domain import audit
from accounts.models import User
from chat.domain import serving
from chat.models import LanguageModel

MOST_OTHERS: Final = 15
_Standing = LanguageModel.Standing


class Impossible(Exception):
    """These cannot serve as one; says why, in a sentence for the administrator."""


def candidates(head: LanguageModel) -> QuerySet[LanguageModel]:
    """Those that could serve for ``head``, and those that do: models of other engines."""
    free = Q(serves_for=None, available=True) & ~Q(standing=_Standing.RETIRED)
    rows = LanguageModel.objects.filter(free | Q(serves_for=head), is_pool=False)
    rows = rows.filter(engine__removed_at=None).exclude(engine=head.engine_id)
    return rows.select_related("engine").order_by("engine__name", "name")


def share(head: LanguageModel, others: Iterable[LanguageModel], *, actor: User) -> None:
    """Let ``others``, and nobody else, serve for ``head``. Who is taken out stands by itself again,
    but is offered to nobody before an administrator says so. Raises ``Impossible``."""
    wanted = {row.pk for row in others}
    with transaction.atomic():
        rows = {row.pk: row for row in _locked(Q(pk__in=[head.pk, *wanted]) | Q(serves_for=head))}
        now = rows.pop(head.pk)
        joined = [row for row in rows.values() if row.pk in wanted]
        _check(now, joined)
        mine = LanguageModel.objects.filter(pk__in=[row.pk for row in rows.values()])
        left = mine.exclude(pk__in=wanted)
        left.filter(standing=_Standing.OFFERED).update(standing=_Standing.HIDDEN)
        left.update(serves_for=None)
        mine.filter(pk__in=wanted).update(serves_for=now)
        LanguageModel.objects.filter(pk=now.pk).update(is_pool=bool(joined), others_length=None)
        note_lengths()
        names = [str(row.pk) for row in joined]
        audit.record("pool.changed", actor=actor, about=now, others=names)


def note_lengths() -> None:
    """Write down how little one of the others reads, where several serve for one."""
    others = LanguageModel.objects.filter(serves_for=OuterRef("pk")).order_by()
    least = others.values("serves_for").annotate(
        least=Min(Coalesce("context_length", "given_length"))
    )
    LanguageModel.objects.filter(is_pool=True).update(others_length=Subquery(least.values("least")))


def _locked(which: Q) -> Sequence[LanguageModel]:
    """Two administrators who put together at once come one after the other."""
    rows = LanguageModel.objects.select_for_update(of=("self",)).filter(which)
    return list(rows.select_related("engine").order_by("pk"))


def _check(head: LanguageModel, others: Sequence[LanguageModel]) -> None:
    if head.serves_for_id:
        raise Impossible(_("%(name)s serves for another model itself.") % {"name": _named(head)})
    if len(others) > MOST_OTHERS:
        raise Impossible(_("At most %(most)s can serve for one.") % {"most": MOST_OTHERS})
    for row in others:
        if row.is_pool or row.serves_for_id not in (None, head.pk):
            raise Impossible(
                _("%(name)s is part of another group of engines.") % {"name": _named(row)}
            )
    for one, other in combinations([head, *others], 2):
        if one.engine_id == other.engine_id:
            raise Impossible(
                _("%(one)s and %(other)s run on the same engine; that does not make it faster.")
                % {"one": _named(one), "other": _named(other)}
            )
        if not serving.same_weights(one, other):
            raise Impossible(
                _(
                    "%(one)s and %(other)s are not the same file: their SHA-256 differ. People"
                    " would get answers of two models under one name."
                )
                % {"one": _named(one), "other": _named(other)}
            )


def _named(row: LanguageModel) -> str:
    return f"{row.name} ({row.engine.name})"
