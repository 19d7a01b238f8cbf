"""Which rows answer in a model's name: several engines may serve what people see as one model."""

from __future__ import annotations

from django.db.models import Exists, OuterRef, Q, QuerySet

from chat.models import EngineConnection, LanguageModel


def members(language_model: LanguageModel) -> list[LanguageModel]:
    """The rows that can be asked for it, itself first; with a query only where others serve for it.

    One that is gone, retired, held, or another file by now is left out. Where nobody is left it is
    itself asked all the same, so that its engine says why.
    """
    head = language_model
    if not head.is_pool:
        return [head]
    rows = _there().filter(serves_for=head).select_related("engine").order_by("created_at", "pk")
    others = [row for row in rows if same_weights(head, row)]
    return [head, *others] if head.available or not others else others


def is_there(language_model: LanguageModel) -> bool:
    """Whether an engine can be asked for it."""
    if language_model.available or not language_model.is_pool:
        return language_model.available
    return _there().filter(serves_for=language_model).exists()


def there(path: str = "") -> Q:
    """The same as a condition on the rows behind ``path``, which ends in two underscores."""
    others = _there().filter(serves_for=OuterRef(f"{path}pk"))
    return Q(**{f"{path}available": True}) | Q(Exists(others), **{f"{path}is_pool": True})


def same_weights(one: LanguageModel, other: LanguageModel) -> bool:
    """Whether nothing that their engines tell speaks against it. Ollama's SHA-256 names a manifest,
    everybody else's the file: only like is compared with like."""
    ollama = EngineConnection.Kind.OLLAMA
    if (one.engine.kind == ollama) != (other.engine.kind == ollama):
        return True
    return not (one.sha256 and other.sha256) or one.sha256 == other.sha256


def _there() -> QuerySet[LanguageModel]:
    there = LanguageModel.objects.filter(available=True, held=False, engine__removed_at=None)
    return there.exclude(standing=LanguageModel.Standing.RETIRED)
