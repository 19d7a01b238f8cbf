"""Which models there are. What an engine says is written down; who may use them is asked here."""

from __future__ import annotations

import re
from collections.abc import Iterable

from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone

from accounts.models import User
from chat.models import EngineConnection, LanguageModel
from engine_adapter.types import ModelCard

_QUANTIZATION = re.compile(r"[-._](i?q\d\w*|f16|bf16|f32|fp16|mxfp4)$", re.IGNORECASE)


def bundled() -> EngineConnection:
    """The engine that comes with the house."""
    connection, _ = EngineConnection.objects.get_or_create(
        kind=EngineConnection.Kind.BUNDLED, defaults={"name": "Konak"}
    )
    return connection


def connections() -> list[EngineConnection]:
    """Every engine of the house, the bundled one among them."""
    bundled()
    return list(EngineConnection.objects.all())


def usable_by(user: User) -> QuerySet[LanguageModel]:
    """The models this person may choose for a conversation."""
    return (
        LanguageModel.objects.filter(available=True)
        if user.is_active
        else (LanguageModel.objects.none())
    )


def default_for(user: User) -> LanguageModel | None:
    """The model a new conversation gets: the one used last, else the first there is."""
    usable = usable_by(user)
    last = usable.filter(conversations__owner=user).order_by("-conversations__updated_at").first()
    return last or usable.first()


def refresh(connection: EngineConnection, cards: Iterable[ModelCard]) -> None:
    """Write down what the engine serves now; a model it no longer names becomes unavailable.

    Models that only turn texts into vectors are nobody's to talk to.
    """
    now = timezone.now()
    with transaction.atomic():
        names = []
        for card in cards:
            if card.kind != "text":
                continue
            names.append(card.name)
            told = {
                "context_length": card.context_length,
                "size_bytes": card.size_bytes,
                "quantization": card.quantization or "",
                "sha256": card.sha256 or "",
                "continues": card.continues,
                "available": True,
                "seen_at": now,
            }
            LanguageModel.objects.update_or_create(
                engine=connection,
                name=card.name,
                defaults=told,
                create_defaults={**told, "display_name": _QUANTIZATION.sub("", card.name)},
            )
        LanguageModel.objects.filter(engine=connection, available=True).exclude(
            name__in=names
        ).update(available=False)
