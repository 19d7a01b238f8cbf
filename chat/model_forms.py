"""What administrators type about engines and models, checked."""

from __future__ import annotations

from typing import Any, Final, cast
from urllib.parse import urlsplit

from django import forms
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from accounts.models import Group
from chat.measuring import Point
from chat.models import EngineConnection, LanguageModel

MOST_DAYS: Final = 366
_Kind = EngineConnection.Kind
_KINDS: Final = [(kind.value, kind.label) for kind in _Kind if kind != _Kind.BUNDLED]


class EngineForm(forms.Form):
    """Where an engine is and how it is spoken to. The key is never shown again."""

    name = forms.CharField(
        label=gettext_lazy("Name"),
        max_length=80,
        help_text=gettext_lazy("People see it beside its models, as the place where they run."),
    )
    url = forms.CharField(
        label=gettext_lazy("Address"),
        max_length=500,
        help_text=gettext_lazy("For example http://gpu1.example.org:8000"),
        widget=forms.TextInput(attrs={"inputmode": "url", "spellcheck": "false"}),
    )
    kind = forms.ChoiceField(
        label=gettext_lazy("Kind"),
        choices=[("", gettext_lazy("Find out")), *_KINDS],
        required=False,
    )
    key = forms.CharField(
        label=gettext_lazy("Key"),
        max_length=1000,
        required=False,
        help_text=gettext_lazy("Only where the engine wants one. It is stored sealed."),
        widget=forms.PasswordInput(attrs={"autocomplete": "off"}),
    )
    ca_file = forms.CharField(
        label=gettext_lazy("Certificate authority"),
        max_length=500,
        required=False,
        help_text=gettext_lazy(
            "The path of a PEM file on this machine, where the engine’s certificate comes from an"
            " authority of your own."
        ),
        widget=forms.TextInput(attrs={"spellcheck": "false"}),
    )

    def __init__(self, *args: Any, row: EngineConnection | None = None, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._row = row
        if row and row.sealed_key:
            self.fields["key"].help_text = _("One is stored. Leave this empty to keep it.")
            self.fields["no_key"] = forms.BooleanField(
                label=_("Forget the stored key"), required=False
            )

    def clean_name(self) -> str:
        """Not the name of another engine."""
        name: str = self.cleaned_data["name"].strip()
        taken = EngineConnection.objects.filter(name__iexact=name)
        if self._row:
            taken = taken.exclude(pk=self._row.pk)
        if taken.exists():
            raise forms.ValidationError(_("Another engine has this name already."))
        return name

    def clean_url(self) -> str:
        """http or https, and a host."""
        url: str = self.cleaned_data["url"].strip()
        url = (url if "://" in url else f"http://{url}").rstrip("/")
        try:
            parts = urlsplit(url)
            in_order = parts.scheme in {"http", "https"} and parts.hostname and parts.port != 0
        except ValueError:
            in_order = False
        if not in_order or parts.username or parts.query or parts.fragment:
            raise forms.ValidationError(
                _("Write the address as http://host:port, without a name, a key or a query.")
            )
        return url

    @property
    def key_told(self) -> str | None:
        """The key to store; ``None`` to leave the one there is."""
        key: str = self.cleaned_data["key"].strip()
        if key or self._row is None or self.cleaned_data.get("no_key"):
            return key
        return None


class ModelForm(forms.Form):
    """Who may use a model, and how it is run. What the engine tells of it cannot be changed."""

    display_name = forms.CharField(label=gettext_lazy("Name"), max_length=200)
    display_name_tr = forms.CharField(
        label=gettext_lazy("Name in Turkish, where it is another one"),
        max_length=200,
        required=False,
    )
    standing = forms.ChoiceField(
        label=gettext_lazy("Standing"), choices=LanguageModel.Standing.choices
    )
    description = forms.CharField(
        label=gettext_lazy("What it is good for, in English"),
        help_text=gettext_lazy(
            "One sentence; people read it where they choose a model, in their language if it is"
            " written in it."
        ),
        max_length=300,
        required=False,
    )
    description_tr = forms.CharField(
        label=gettext_lazy("What it is good for, in Turkish"), max_length=300, required=False
    )
    successor = forms.ModelChoiceField(
        label=gettext_lazy("Successor"),
        help_text=gettext_lazy(
            "Offered to people whose conversations are with this model once it is gone."
        ),
        queryset=LanguageModel.objects.none(),
        required=False,
        empty_label=gettext_lazy("None"),
    )
    is_default = forms.BooleanField(
        label=gettext_lazy("New chats of the house begin with it"), required=False
    )
    first_of = forms.ModelMultipleChoiceField(
        label=gettext_lazy("Groups whose new chats begin with it"),
        queryset=Group.objects.all(),
        required=False,
        widget=forms.CheckboxSelectMultiple,
    )
    restricted = forms.BooleanField(
        label=gettext_lazy("Only for certain groups"),
        help_text=gettext_lazy("Without any group nobody may use it."),
        required=False,
    )
    groups = forms.ModelMultipleChoiceField(
        label=gettext_lazy("Groups that may use it"),
        queryset=Group.objects.all(),
        required=False,
        widget=forms.CheckboxSelectMultiple,
    )
    given_length = forms.IntegerField(
        label=gettext_lazy("Reads at once (tokens)"),
        help_text=gettext_lazy("Its engine does not tell. Empty: unknown."),
        min_value=256,
        max_value=100_000_000,
        required=False,
    )
    data_class = forms.ChoiceField(
        label=gettext_lazy("For data up to"),
        choices=[("", gettext_lazy("Nothing said")), *LanguageModel.DataClass.choices],
        required=False,
    )
    place = forms.IntegerField(
        label=gettext_lazy("Place in the list"),
        help_text=gettext_lazy("The smallest number stands first."),
        min_value=0,
        max_value=30_000,
    )
    instruction = forms.CharField(
        label=gettext_lazy("Instruction"),
        help_text=gettext_lazy("Told to the model before every conversation."),
        max_length=20_000,
        required=False,
        widget=forms.Textarea(attrs={"rows": 4}),
    )
    temperature = forms.FloatField(
        label=gettext_lazy("Temperature"),
        help_text=gettext_lazy("0 to 2. Empty: as the engine has it."),
        min_value=0,
        max_value=2,
        required=False,
    )
    top_p = forms.FloatField(
        label=gettext_lazy("Top-p"),
        help_text=gettext_lazy("0 to 1. Empty: as the engine has it."),
        min_value=0,
        max_value=1,
        required=False,
    )

    def __init__(self, data: Any, *, row: LanguageModel) -> None:
        now = {name: getattr(row, name) for name in self.base_fields}
        many = {name: now[name].all() for name in ("groups", "first_of")}
        super().__init__(data, initial={**now, **many})
        if row.context_length:  # what the engine tells is true
            del self.fields["given_length"]
        choice = cast("forms.ModelChoiceField[LanguageModel]", self.fields["successor"])
        choice.queryset = LanguageModel.objects.exclude(pk=row.pk).order_by("display_name")

    def clean_display_name(self) -> str:
        """On one line, and something that can be seen."""
        name = " ".join(self.cleaned_data["display_name"].split())
        if not name:
            raise forms.ValidationError(_("People have to call it something."))
        return name

    def clean_display_name_tr(self) -> str:
        """On one line."""
        return " ".join(self.cleaned_data["display_name_tr"].split())


def _day_field() -> forms.DateInput:
    return forms.DateInput(attrs={"type": "date"}, format="%Y-%m-%d")


class DaysForm(forms.Form):
    """From one day to another."""

    first = forms.DateField(
        label=gettext_lazy("From"),
        widget=forms.DateInput(attrs={"type": "date"}, format="%Y-%m-%d"),
    )
    last = forms.DateField(
        label=gettext_lazy("To"), widget=forms.DateInput(attrs={"type": "date"}, format="%Y-%m-%d")
    )

    def clean(self) -> dict[str, Any]:
        """In this order, and not more than can be shown."""
        data = super().clean() or {}
        first, last = data.get("first"), data.get("last")
        if first and last and first > last:
            self.add_error("last", _("The last day lies before the first."))
        elif first and last and (last - first).days >= MOST_DAYS:
            self.add_error("last", _("Look at a year at most."))
        return data


class CostsForm(forms.Form):
    """Prices, for a comparison."""

    currency = forms.CharField(label=gettext_lazy("Currency"), max_length=8)
    read_price = forms.DecimalField(
        label=gettext_lazy("A million tokens read, elsewhere"),
        min_value=0, max_digits=10, decimal_places=2,
    )  # fmt: skip
    written_price = forms.DecimalField(
        label=gettext_lazy("A million tokens written, elsewhere"),
        min_value=0, max_digits=10, decimal_places=2,
    )  # fmt: skip
    machine_price = forms.DecimalField(
        label=gettext_lazy("Your own machine"), min_value=0, max_digits=12, decimal_places=2
    )
    monthly_price = forms.DecimalField(
        label=gettext_lazy("Its power and care, a month"),
        min_value=0, max_digits=12, decimal_places=2,
    )  # fmt: skip


class AimForm(forms.Form):
    """What people are to get at least."""

    first_s = forms.FloatField(
        label=gettext_lazy("First word after at most (s)"), min_value=0.01, max_value=600
    )
    each = forms.FloatField(
        label=gettext_lazy("Tokens a second for each at least"), min_value=0, max_value=10_000
    )

    USUAL: Final = {"first_s": "2", "each": "8"}

    def __init__(self, data: Any) -> None:
        super().__init__({name: data.get(name, usual) for name, usual in self.USUAL.items()})

    def is_met_by(self, point: Point) -> bool:
        """For 95 of 100 answers the first word, and on average the rest."""
        if not self.is_valid() or point.first_p95_s is None or point.token_p50_s is None:
            return False
        fast = point.token_p50_s * self.cleaned_data["each"] <= 1
        return fast and point.first_p95_s <= self.cleaned_data["first_s"] and not point.failed
