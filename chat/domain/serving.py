"""Which rows answer in a model's name: several engines may serve what people see as one model."""

from __future__ import annotations

from django.db.models import Exists, OuterRef, Q, QuerySet

from chat.models import EngineConnection, LanguageModel


def members(language_model: LanguageModel) -> list[LanguageModel]:
    """The rows that can be asked for it, itself first; with a query only where others serve for it.

    One that is gone, retired, held, or another file by now is left out. Where nobody is left it is
    itself asked all the same, so that its engine says why; held, it is not.
    """
    head = language_model
    if not head.is_pool:
        return [head]
    rows = _there().filter(serves_for=head).select_related("engine").order_by("created_at", "pk")
    others = [row for row in rows if same_weights(head, row)]
    answers = head.available and not head.held
    return [head, *others] if answers or not (others or head.held) else others


def is_there(language_model: LanguageModel) -> bool:
    """Whether an engine can be asked for it."""
    itself = language_model.available and not language_model.held
    if itself or not language_model.is_pool:
        return itself
    return _there().filter(serves_for=language_model).exists()


def there(path: str = "") -> Q:
    """The same as a condition on the rows behind ``path``, which ends in two underscores."""
    others = _there().filter(serves_for=OuterRef(f"{path}pk"))
    itself = Q(**{f"{path}available": True, f"{path}held": False})
    return itself | Q(Exists(others), **{f"{path}is_pool": True})


def same_weights(one: LanguageModel, other: LanguageModel) -> bool:
    """Whether nothing that their engines tell speaks against it. Ollama's SHA-256 names a manifest,
    everybody else's the file: only like is compared with like."""
    ollama = EngineConnection.Kind.OLLAMA
    if (one.engine.kind == ollama) != (other.engine.kind == ollama):
        return True
    told = _sha256(one), _sha256(other)
    return not all(told) or told[0] == told[1]


def _sha256(row: LanguageModel) -> str:
    """Of a held one, whose file was changed, that of the file which was approved."""
    return row.runs.sha256 if row.held and row.runs else row.sha256


def _there() -> QuerySet[LanguageModel]:
    there = LanguageModel.objects.filter(available=True, held=False, engine__removed_at=None)
    return there.exclude(standing=LanguageModel.Standing.RETIRED)
