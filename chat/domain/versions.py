"""Which file of an engine answers for a model: found, approved, rolled back, held when it changed.

The one way from a model to what its engine is asked for. Asks no engine anything itself.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final
from uuid import UUID

from django.db import transaction
from django.db.models import Count, Q, QuerySet
from django.utils import timezone

from accounts.domain import audit
from accounts.models import User
from chat.domain import rights, sightings
from chat.models import EngineConnection, LanguageModel, ModelVersion

_NO_FILE: Final = "held"


class Gone(Exception):
    """The engine has not got this file, or not any more."""


class Overtaken(Exception):
    """Another administrator approved another version meanwhile."""


class NotUsable(Exception):
    """This file cannot become a version: it runs another one itself, or has no SHA-256 yet."""


@dataclass(frozen=True, slots=True)
class Running:
    """What the model's engine is asked for. ``sha256`` is what the file must have, None where that
    is not to be checked or nobody can."""

    name: str
    sha256: str | None


def running(language_model: LanguageModel) -> Running:
    """What answers for the model, as its row was read. Asks the database for nothing.

    Raises ``rights.Held`` where its file was changed and nobody has approved that. Where others
    serve for it, they are asked under names of their own, and under this one no file is.
    """
    row = language_model
    if row.held and not row.is_pool:
        raise rights.Held
    must_be = row.sha256 if row.runs_id and row.needs_approval else ""
    return Running(row.runs_name or row.name, _NO_FILE if row.held else must_be or None)


def side_by_side(language_model: LanguageModel) -> QuerySet[ModelVersion]:
    """All its versions, the newest first, each with the number of its ``answers``."""
    rows = language_model.versions.select_related("approved_by")
    began = Q(generations__first_text_at__isnull=False)
    counted = rows.annotate(answers=Count("generations", filter=began))
    return counted.order_by("-first_seen_at", "name")


def usable_as(language_model: LanguageModel) -> QuerySet[LanguageModel]:
    """The models of its engine whose file could become a version of it."""
    others = LanguageModel.objects.filter(engine=language_model.engine_id, available=True)
    taken = language_model.versions.values("name")
    alone = others.filter(runs_name="", serves_for=None, is_pool=False)
    return alone.exclude(pk=language_model.pk).exclude(name__in=taken)


def approve(version: ModelVersion, *, instead_of: UUID | None, actor: User) -> None:
    """Have it answer from now on, also where it is an earlier one.

    ``instead_of`` is what ran as the administrator saw it. Raises ``Gone`` and ``Overtaken``; one
    that runs already stays as it is.
    """
    with transaction.atomic():
        row = _locked(version.language_model)
        version = row.versions.get(pk=version.pk)
        if row.runs_id == version.pk and not row.held:
            return
        if row.runs_id != instead_of:
            raise Overtaken
        if not version.is_there or row.engine.removed_at:
            raise Gone
        before = row.runs
        version.approved_at, version.approved_by = timezone.now(), actor
        version.save(update_fields=["approved_at", "approved_by"])
        row.runs, row.held, row.available = version, False, True
        row.runs_name = "" if version.name == row.name else version.name
        row.sha256, row.size_bytes = version.sha256, version.size_bytes
        row.quantization, row.context_length = version.quantization, version.context_length
        row.save(
            update_fields=[
                *("runs", "runs_name", "held", "available"),
                *("sha256", "size_bytes", "quantization", "context_length"),
            ]
        )
        audit.record(
            "model.version_approved", actor=actor, about=row, name=version.name,
            sha256=version.sha256, instead_of=before.sha256 if before else "",
        )  # fmt: skip


def add(language_model: LanguageModel, file: LanguageModel, *, actor: User) -> None:
    """Let the file of another model of the same engine be a version of this one, once approved.

    By itself it is offered to nobody any more; its conversations are offered this one. Raises
    ``NotUsable``.
    """
    with transaction.atomic():
        row = _locked(language_model)
        other = usable_as(row).select_for_update(no_key=True).filter(pk=file.pk).first()
        if other is None or (row.sha256 and not other.sha256):
            raise NotUsable
        if row.runs is None:  # of an engine that tells no SHA-256: there must be a way back
            row.runs = sightings.seen(row, row, approved=True)
            row.save(update_fields=["runs"])
        sightings.seen(row, other)
        other.standing, other.successor = LanguageModel.Standing.RETIRED, row
        other.save(update_fields=["standing", "successor"])
        audit.record(
            "model.version_added", actor=actor, about=row, name=other.name, sha256=other.sha256,
            file=str(other.pk),
        )  # fmt: skip


def set_approval(language_model: LanguageModel, *, needed: bool, actor: User) -> None:
    """Whether a changed file waits for an administrator. One that waits is taken without."""
    with transaction.atomic():
        row = _locked(language_model)
        if row.needs_approval == needed:
            return
        row.needs_approval = needed
        row.save(update_fields=["needs_approval"])
        audit.record(
            "model.changed", actor=actor, about=row, changed=["needs_approval"], approval=needed
        )
        newest = row.versions.filter(name=row.runs_name or row.name, is_there=True).first()
        if row.held and not needed and newest:
            sightings.take(row, newest)


def _locked(language_model: LanguageModel) -> LanguageModel:
    """As it is now. Whoever looks at its engine, or approves, waits until the transaction ends."""
    engines = EngineConnection.objects.select_for_update(no_key=True)
    engines.get(pk=language_model.engine_id)
    return LanguageModel.objects.select_related("engine", "runs").get(pk=language_model.pk)
