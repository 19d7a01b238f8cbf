"""Which engines serve one model together, as an administrator chooses it."""

from __future__ import annotations

from typing import Any, cast

from django import forms
from django.utils.translation import gettext_lazy

from chat.domain import pools
from chat.models import LanguageModel


class OthersField(forms.ModelMultipleChoiceField):  # type: ignore[type-arg]  # has none in Django
    """Models by their own name at their engine, since people's names for them may be alike."""

    def label_from_instance(self, obj: LanguageModel) -> str:
        """Where it runs, and as what."""
        return f"{obj.engine.name}: {obj.name}"


class PoolForm(forms.Form):
    """The others of a model."""

    others = OthersField(
        label=gettext_lazy("Models that serve for it"),
        queryset=LanguageModel.objects.none(),
        required=False,
        widget=forms.CheckboxSelectMultiple,
    )

    def __init__(self, data: Any, *, row: LanguageModel) -> None:
        super().__init__(data, initial={"others": row.others.all()})
        cast("OthersField", self.fields["others"]).queryset = pools.candidates(row)
