"""What an empty page offers to begin with: the administrator's words, or else the house's own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from django.db import transaction
from django.utils.translation import gettext as _
from django.utils.translation import override

from accounts.domain import audit
from accounts.models import User
from chat.models import Starter

COUNT: Final = 4


def of(language: str) -> list[str]:
    """At most four beginnings in ``language``."""
    rows = list(Starter.objects.filter(language=language).values_list("text", flat=True))
    return rows or usual(language)


def usual(language: str) -> list[str]:
    """Those of the house."""
    with override(language):
        return [
            _("Explain the following text in plain words: "),
            _("Write a polite answer to this letter: "),
            _("Sum up the following in five points: "),
            _("Make a table of these notes: "),
        ]


def change(texts: Mapping[str, Sequence[str]], *, actor: User) -> None:
    """Language → its beginnings, in their order. A language without any gets the house's own."""
    with transaction.atomic():
        Starter.objects.all().delete()
        Starter.objects.bulk_create(
            Starter(language=language, place=place, text=text)
            for language, wanted in texts.items()
            for place, text in enumerate(filter(None, wanted))
        )
        audit.record("starters.changed", actor=actor, languages=sorted(texts))
