"""Which models there are. What an engine says is written down; who may use them is asked here."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import asdict
from typing import Any
from uuid import UUID

from django.db import transaction
from django.utils import timezone

from accounts.domain import audit
from accounts.models import Group, User
from chat.domain import pools, rights, sightings
from chat.models import EngineConnection, LanguageModel
from engine_adapter.types import ModelCard

# Why a file is no model that anybody could use, until it is another one.
_REFUSED = frozenset({"damaged", "unreadable", "not_served", "adapter_refused"})
_QUANTIZATION = re.compile(r"[-._](i?q\d\w*|f16|bf16|f32|fp16|mxfp4)$", re.IGNORECASE)


def default_for(user: User) -> LanguageModel | None:
    """The model a new conversation gets: the one used last, else the first of a group of this
    person, else the house's, else the first there was: a model that joins takes nobody's place."""
    usable = rights.offered_to(user)
    last = usable.filter(conversations__owner=user).order_by("-conversations__updated_at").first()
    if last:
        return last
    of_group = usable.filter(first_of__people=user).first()
    return of_group or usable.order_by("-is_default", "place", "created_at", "name").first()


def by_engine(rows: Iterable[EngineConnection]) -> dict[UUID, list[LanguageModel]]:
    """Every model of these engines, those that are gone too, by the engine's id."""
    found: dict[UUID, list[LanguageModel]] = {row.pk: [] for row in rows}
    for model in LanguageModel.objects.filter(engine__in=found).prefetch_related("groups"):
        found[model.engine_id].append(model)
    return found


def refresh(connection: EngineConnection, cards: Iterable[ModelCard]) -> None:
    """Write down what the engine serves now; a model it no longer names becomes unavailable.

    Models that only turn texts into vectors are nobody's to talk to. An engine that was removed
    while it was asked serves nothing.
    """
    with transaction.atomic():
        there = EngineConnection.objects.select_for_update(no_key=True).filter(removed_at=None)
        if not there.filter(pk=connection.pk).exists():
            return
        told = {card.name: card for card in cards if card.kind == "text"}
        rows = {row.name: row for row in LanguageModel.objects.filter(engine=connection)}
        for name in told:
            if name not in rows:
                shown = _QUANTIZATION.sub("", name)
                rows[name] = LanguageModel(engine=connection, name=name, display_name=shown)
        gone = []
        for row in rows.values():
            if (card := told.get(row.runs_name or row.name)) is None:
                gone.append(row.pk)
            else:
                _note(row, card)
        LanguageModel.objects.filter(pk__in=gone, available=True).update(available=False)
        sightings.look(connection, told)
        pools.note_lengths()


def _note(row: LanguageModel, card: ModelCard) -> None:
    """The facts of the file that answers. What was known of its content stays until it is told
    anew: an engine that has just begun has not read its files yet."""
    refused = card.why is not None and card.why.code in _REFUSED
    told = asdict(card.facts) if card.facts else {}
    facts = {
        "context_length": card.context_length,
        "size_bytes": card.size_bytes,
        "quantization": card.quantization or "",
        "sha256": card.sha256 or row.sha256,
        "continues": card.continues,
        "vision": card.vision,
        "tools": card.tools,
        "reasoning": card.reasoning,
        "parent": card.parent or "",
        "facts": {**told, "refused": refused},
        "available": not refused,
        "seen_at": timezone.now(),
    }
    is_new = row._state.adding
    for name, value in facts.items():
        setattr(row, name, value)
    row.save(update_fields=None if is_new else list(facts))


def note_move(language_model: LanguageModel, *, load: bool, actor: User) -> None:
    """Write down who had it loaded, or unloaded."""
    with transaction.atomic():
        if load:
            audit.record("model.loaded", actor=actor, about=language_model)
        else:
            audit.record("model.unloaded", actor=actor, about=language_model)


def change(
    language_model: LanguageModel, *, actor: User, groups: Iterable[Group],
    first_of: Iterable[Group], **told: Any,
) -> None:  # fmt: skip
    """What administrators say of a model: ``told`` are fields of its row."""
    with transaction.atomic():
        changed = [name for name, value in told.items() if getattr(language_model, name) != value]
        if told.get("is_default"):
            LanguageModel.objects.filter(is_default=True).update(is_default=False)
        for name, value in told.items():
            setattr(language_model, name, value)
        language_model.save(update_fields=list(told))
        pools.note_lengths()
        language_model.groups.set(groups)
        language_model.first_of.set(first_of)
        audit.record(
            "model.changed", actor=actor, about=language_model, changed=changed,
            standing=language_model.standing, restricted=language_model.restricted,
            groups=[str(group.pk) for group in groups],
        )  # fmt: skip
