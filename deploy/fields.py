"""How Django shows the fields of every form: the first one with something wrong has the focus."""

from __future__ import annotations

from typing import Any

from django.forms.boundfield import BoundField
from django.forms.renderers import DjangoTemplates


class Field(BoundField):
    """A field of a form that may have been refused."""

    def build_widget_attrs(self, attrs: dict[str, Any], widget: Any = None) -> dict[str, Any]:
        """Where something is wrong the cursor is there, and not where the form usually begins."""
        built: dict[str, Any] = super().build_widget_attrs(attrs, widget)
        wrong = [name for name in self.form.fields if name in self.form.errors]
        return {**built, "autofocus": self.name == wrong[0]} if wrong else built


class Renderer(DjangoTemplates):
    """Django's own templates, with these fields."""

    bound_field_class = Field
