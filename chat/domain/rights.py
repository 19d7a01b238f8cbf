"""Which models a person may use. Every path to an engine asks here, not only the list on a page."""

from __future__ import annotations

from uuid import UUID

from django.db.models import Exists, OuterRef, Q, QuerySet

from accounts.models import User
from chat.domain import serving
from chat.models import LanguageModel

_Standing = LanguageModel.Standing


class NotAllowed(Exception):
    """This person may not use this model, or not any more. ``reason`` is what an answer that ends
    for it says."""

    reason = "not_allowed"


class Held(NotAllowed):
    """Nobody may just now: its file was changed, and no administrator has approved that yet."""

    reason = "held"


def usable_by(user: User) -> QuerySet[LanguageModel]:
    """The models that may answer this person now, in the order of the administrators."""
    if not user.is_active:
        return LanguageModel.objects.none()
    there = LanguageModel.objects.filter(serving.there(), serves_for=None)
    there = there.exclude(standing=_Standing.RETIRED)
    return there.filter(_open_to(user.pk)).select_related("engine")


def offered_to(user: User) -> QuerySet[LanguageModel]:
    """Those of them that a person is given to choose from."""
    return usable_by(user).filter(standing=_Standing.OFFERED)


def may_use(user_id: UUID, language_model: LanguageModel) -> bool:
    """Whether the model may answer this person. One whose engine is silent at the moment may; one
    that serves for another answers only in that one's name.

    No query where the model is open to everybody and laid over no other.
    """
    if language_model.standing == _Standing.RETIRED or language_model.serves_for_id:
        return False
    if _is_held(language_model):
        return False
    if not language_model.restricted and not language_model.parent:
        return True
    open_to = LanguageModel.objects.filter(_open_to(user_id), pk=language_model.pk)
    return open_to.exists()


def is_there(language_model: LanguageModel, user: User) -> bool:
    """Whether a conversation of this person with it can go on."""
    return serving.is_there(language_model) and may_use(user.pk, language_model)


def check(user_id: UUID, language_model: LanguageModel) -> None:
    """Raises ``NotAllowed`` where ``may_use`` says no, and ``Held`` as its reason."""
    if _is_held(language_model):
        raise Held
    if not may_use(user_id, language_model):
        raise NotAllowed


def _is_held(language_model: LanguageModel) -> bool:
    """Whether its file waits for approval, and no other engine serves for it."""
    row = language_model
    return row.held and not (row.is_pool and serving.is_there(row))


def _open_to(user_id: UUID) -> Q:
    """A restricted model is for the people of its groups, and without any for nobody. What is laid
    over another model opens it to nobody: who may not use that one may not use this one either."""
    through = LanguageModel.groups.through.objects.filter(group__people=user_id)
    of_groups = through.values("languagemodel_id")
    named = Q(name=OuterRef("parent")) | Q(runs_name=OuterRef("parent"))
    base = LanguageModel.objects.filter(named, engine=OuterRef("engine"), restricted=True)
    shut = Exists(base.exclude(pk__in=of_groups))
    return (Q(restricted=False) | Q(pk__in=of_groups)) & (Q(parent="") | ~Q(shut))


def successor_of(language_model: LanguageModel, user: User) -> LanguageModel | None:
    """What to offer instead: the model it serves for by now, else the nearest of its successors
    that this person may use."""
    usable = {model.pk: model for model in usable_by(user)}
    seen = {language_model.pk}
    next_id = language_model.serves_for_id or language_model.successor_id
    while next_id and next_id not in seen:
        if next_id in usable:
            return usable[next_id]
        seen.add(next_id)
        rows = LanguageModel.objects.values_list("serves_for_id", "successor_id")
        serves_for, successor = rows.get(pk=next_id)
        next_id = serves_for or successor
    return None
