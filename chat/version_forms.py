"""What administrators say about the versions of a model, checked."""

from __future__ import annotations

from typing import Any, Final, cast

from django import forms
from django.utils.translation import gettext_lazy as _

from chat.domain import versions
from chat.models import LanguageModel

OVERTAKEN: Final = _(
    "Another administrator approved another version meanwhile. Look at the versions again, then"
    " decide anew."
)
GONE: Final = _(
    "The engine has not got this file any more. Put it back on its machine, then approve it."
)
NOT_USABLE: Final = _(
    "This file cannot be a version just now: its SHA-256 is not known yet, or another file runs in"
    " its place. Try again in a moment."
)


class ApproveForm(forms.Form):
    """What ran when the administrator looked."""

    instead_of = forms.UUIDField(required=False)


class FileField(forms.ModelChoiceField):  # type: ignore[type-arg]  # has none in Django
    """Models by their own name at their engine."""

    def label_from_instance(self, obj: LanguageModel) -> str:
        """As the engine calls it."""
        return obj.name


class AddVersionForm(forms.Form):
    """A file of the same engine."""

    file = FileField(
        label=_("File"),
        queryset=LanguageModel.objects.none(),
        empty_label=None,
        error_messages={"invalid_choice": NOT_USABLE, "required": _("Choose a file first.")},
    )

    def __init__(self, data: Any = None, *, row: LanguageModel) -> None:
        super().__init__(data)
        self._files = versions.usable_as(row)
        cast("FileField", self.fields["file"]).queryset = self._files

    @property
    def has_any(self) -> bool:
        """Whether there is a file to choose."""
        return self._files.exists()


class RuleForm(forms.Form):
    """Whether a changed file waits."""

    needs_approval = forms.BooleanField(
        label=_("A changed file waits for an administrator’s approval"), required=False
    )
