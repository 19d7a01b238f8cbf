"""Every component in every state, for whoever works on the house: only where debugging is on.

Shows the templates that the pages use, with rows that are stored nowhere.
"""

from __future__ import annotations

from typing import Any, Final
from uuid import uuid4

from django import forms
from django.conf import settings
from django.http import Http404, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.utils.translation import gettext_lazy as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from accounts.requests import PageRequest
from chat.domain.answers import Reading
from chat.domain.window import Fill
from chat.models import EngineConnection, Generation, LanguageModel, Message
from chat.views import frames

_State = Generation.State
_PROSE: Final = "**42 %** of `x`, as $x^2$ shows.\n\n| a | b |\n| --- | ---: |\n| 1 | 2 |\n"
# How an answer can stand: its state, the reason, and whether there is text.
_STANDS: Final = (
    (_State.QUEUED, "", False), (_State.RUNNING, "", True), (_State.DONE, "", True),
    (_State.DONE, "length", True), (_State.STOPPED, "", True),
    (_State.INTERRUPTED, "broken", True), (_State.FAILED, "unreachable", False),
    (_State.FAILED, "overloaded", False), (_State.FAILED, "refused", False),
    (_State.FAILED, "empty", False), (_State.FAILED, "waited", False),
    (_State.FAILED, "context_length_exceeded", False),
)  # fmt: skip


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
    context = {
        **frames.frame(request),
        "form": Fields(initial={"name": "Konak"}),
        "wrong": Fields({"w-name": "", "w-email": "@", "w-model": "c"}, prefix="w"),
        "language_models": _models(),
        "fills": [Fill(620, 1000), Fill(930, 1000)],
        "question": Reading(_message(Message.Role.USER), "Why?\n\nمرحبا"),
        "readings": [_answer(*stand) for stand in _STANDS],
    }
    return render(request, "design.html", context)


def _models() -> list[LanguageModel]:
    here = EngineConnection(name="Konak", kind=EngineConnection.Kind.BUNDLED)
    there = EngineConnection(name="GPU 1", kind=EngineConnection.Kind.OPENAI, url="-")
    facts: dict[str, Any] = {"context_length": 32768, "size_bytes": 9 * 10**9}
    return [
        LanguageModel(engine=here, display_name="Small", quantization="Q4_K_M", **facts),
        LanguageModel(engine=there, display_name="Large", description="A 14 % better one."),
    ]


def _message(role: str) -> Message:
    return Message(conversation_id=uuid4(), parent_id=uuid4(), role=role, created_at=timezone.now())


def _answer(state: str, reason: str, has_text: bool) -> Reading:
    message = _message(Message.Role.ASSISTANT)
    message.language_model = LanguageModel(display_name=f"{state} {reason}", continues=True)
    run = Generation(message=message, state=state, reason=reason)
    versions = (uuid4(), message.pk) if state == _State.DONE else (message.pk,)
    return Reading(message, _PROSE if has_text else "", run, versions=versions)
