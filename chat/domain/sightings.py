"""What engines tell of their files: versions that were not seen before, models that were changed.

A changed model is held: nobody's question goes to a file that no administrator has approved.
"""

from __future__ import annotations

from collections.abc import Mapping
from uuid import UUID

from django.utils import timezone

from accounts.domain import audit
from chat.models import EngineConnection, LanguageModel, ModelVersion
from engine_adapter.types import ModelCard

_Key = tuple[UUID, str, str]


def look(engine: EngineConnection, cards: Mapping[str, ModelCard]) -> None:
    """Write down which files there are now, by what the engine tells of each name; hold the models
    whose file was changed. Part of the caller's transaction, which holds the engine's row."""
    rows = list(LanguageModel.objects.filter(engine=engine).select_related("runs"))
    known: dict[_Key, ModelVersion] = {
        (version.language_model_id, version.name, version.sha256): version
        for version in ModelVersion.objects.filter(language_model__engine=engine)
    }
    moved = [v for v in known.values() if v.is_there != _is_there(v, cards.get(v.name))]
    for version in moved:
        version.is_there = not version.is_there
    ModelVersion.objects.bulk_update(moved, ["is_there"])
    names = {row.pk: {row.name} for row in rows}
    for model_id, name, _ in known:
        names[model_id].add(name)
    for row in rows:
        for name in names[row.pk]:
            if (card := cards.get(name)) is not None and card.sha256:
                _find(row, card, known)
        card = cards.get(row.runs_name or row.name)
        if card is not None:
            _settle(row, card, known.get((row.pk, card.name, card.sha256 or "")))


def _is_there(version: ModelVersion, card: ModelCard | None) -> bool:
    """While a SHA-256 is not computed yet, it is as it was."""
    if card is None:
        return False
    if not card.sha256:
        return version.is_there or not version.sha256
    return not version.sha256 or card.sha256 == version.sha256


def _find(row: LanguageModel, card: ModelCard, known: dict[_Key, ModelVersion]) -> None:
    """One more version, unless it is known."""
    sha256 = card.sha256 or ""
    if (row.pk, card.name, sha256) in known:
        return
    if unnamed := known.pop((row.pk, card.name, ""), None):
        unnamed.sha256 = sha256  # the engine tells by now what it did not tell before
        unnamed.save(update_fields=["sha256"])
        found = unnamed
    else:
        found = seen(row, card)
        audit.record(
            "model.version_found", actor=None, about=row, name=card.name, sha256=sha256,
            instead_of=row.runs.sha256 if row.runs else "",
        )  # fmt: skip
    known[row.pk, card.name, sha256] = found


def seen(
    row: LanguageModel, told: ModelCard | LanguageModel, *, approved: bool = False
) -> ModelVersion:
    """One more version of ``row``: the file that ``told`` is about."""
    now = timezone.now()
    version: ModelVersion = row.versions.create(
        name=told.name,
        sha256=told.sha256 or "",
        quantization=told.quantization or "",
        size_bytes=told.size_bytes,
        context_length=told.context_length,
        first_seen_at=now,
        approved_at=now if approved else None,
    )
    return version


def _settle(row: LanguageModel, card: ModelCard, found: ModelVersion | None) -> None:
    """The first version of a model is taken as it is: who put it there meant it to be used."""
    runs = row.runs
    if runs is None or not row.needs_approval:
        if found and found.sha256 and (found != runs or row.held):
            take(row, found)
        return
    if card.sha256:
        held = found != runs
    else:  # not told, or not yet: another size is another file
        sizes = {runs.size_bytes, card.size_bytes} - {None}
        held = row.held or bool(runs.sha256 and len(sizes) > 1)
    if held != row.held:
        LanguageModel.objects.filter(pk=row.pk).update(held=held)


def take(row: LanguageModel, version: ModelVersion) -> None:
    """It runs without anybody's approval."""
    version.approved_at = version.approved_at or timezone.now()
    version.save(update_fields=["approved_at"])
    LanguageModel.objects.filter(pk=row.pk).update(runs=version, held=False, sha256=version.sha256)
