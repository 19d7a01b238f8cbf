"""The engines of the house as rows: added, changed, removed. Asks none of them anything."""

from __future__ import annotations

from django.db import transaction
from django.utils import timezone

from accounts.domain import audit
from accounts.models import User
from chat.domain import vault
from chat.models import EngineConnection, LanguageModel


def bundled() -> EngineConnection:
    """The engine that comes with the house."""
    connection, _ = EngineConnection.objects.get_or_create(
        kind=EngineConnection.Kind.BUNDLED, defaults={"name": "Konak"}
    )
    return connection


def every() -> list[EngineConnection]:
    """Every engine of the house, the bundled one first."""
    own = bundled()
    others = EngineConnection.objects.filter(removed_at=None).exclude(pk=own.pk)
    return [own, *others.order_by("name")]


def add(*, name: str, kind: str, url: str, key: str, ca_file: str, actor: User) -> EngineConnection:
    """Another engine, which the runners ask from now on. Raises ``IntegrityError`` where the name
    is taken."""
    with transaction.atomic():
        made = EngineConnection.objects.create(
            name=name, kind=kind, url=url, sealed_key=vault.seal(key), ca_file=ca_file
        )
        audit.record("engine.added", actor=actor, about=made, engine=kind)
    return made


def change(
    connection: EngineConnection, *, name: str, kind: str, url: str, key: str | None, ca_file: str,
    actor: User,
) -> None:  # fmt: skip
    """Another name, address or key; ``None`` leaves the key as it is."""
    with transaction.atomic():
        connection.name, connection.kind, connection.url = name, kind, url
        connection.ca_file = ca_file
        if key is not None:
            connection.sealed_key = vault.seal(key)
        connection.save()
        audit.record(
            "engine.changed", actor=actor, about=connection, engine=kind, key=key is not None
        )


def remove(connection: EngineConnection, *, actor: User) -> None:
    """It is asked no more, and its models are there for nobody. Old answers still name them; its
    key is forgotten."""
    with transaction.atomic():
        connection.removed_at, connection.sealed_key = timezone.now(), ""
        connection.name = f"{connection.name[:40]} {connection.pk}"  # the name is free again
        connection.save()
        LanguageModel.objects.filter(engine=connection).update(available=False)
        audit.record("engine.removed", actor=actor, about=connection)
