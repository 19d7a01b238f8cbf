"""Every component in every state, for whoever works on the house: only where debugging is on."""

from __future__ import annotations

from typing import Final

from django import forms
from django.conf import settings
from django.http import Http404, HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext_lazy as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from accounts.requests import PageRequest
from chat.domain.window import Fill
from chat.views import frames
from deploy import specimens

_BARS: Final = (3, 5, 8, 7, 2)
_CURVES: Final = tuple((float(n), 4.0 * n, 30.0 + n) for n in range(13))


class Fields(forms.Form):
    """A field of each kind."""

    name = forms.CharField(label=_("Name"), help_text=_("Title"), max_length=80)
    email = forms.EmailField(label=_("E-mail address"), required=False)
    model = forms.ChoiceField(label=_("Model"), choices=[("a", "A"), ("b", "B")])
    text = forms.CharField(label=_("Your text"), widget=forms.Textarea(attrs={"rows": 2}))
    file = forms.FileField(label=_("File"), required=False)
    groups = forms.MultipleChoiceField(
        label=_("Groups"),
        choices=[("1", "Ward 3"), ("2", "Ward 4")],
        required=False,
        widget=forms.CheckboxSelectMultiple,
    )
    keep = forms.BooleanField(label=_("Pin"), required=False)


@require_safe
@never_cache
def design(request: PageRequest) -> HttpResponse:
    """The page. Elsewhere than on a developer's machine there is none."""
    if not settings.DEBUG:
        raise Http404
    models = specimens.models()
    context = {
        **frames.frame(request),
        **specimens.conversations(),
        **specimens.messages(),
        "form": Fields(initial={"name": "Konak"}),
        "wrong": Fields({"w-name": "", "w-email": "@", "w-model": "c"}, prefix="w"),
        "language_models": models,
        "chosen": models[0],
        "lost": models[0],
        "instead": models[1],
        "fills": [Fill(620, 1000), Fill(930, 1000)],
        "shares": [0.0, 0.42, 0.95],
        "rates": _BARS,
        "labels": [f"{people}: {rate}" for people, rate in enumerate(_BARS, 1)],
        "curves": _CURVES,
        "names": [_("The same tokens elsewhere"), _("Your own machine")],
    }
    return render(request, "design.html", context)
