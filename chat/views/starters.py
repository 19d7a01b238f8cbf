"""The administrator's page for what an empty page offers."""

from __future__ import annotations

from django.conf import settings
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_http_methods

from accounts.requests import PageRequest
from accounts.views.people import administrators_only
from chat.domain import starters
from chat.forms import StartersForm


@administrators_only
@require_http_methods(["GET", "POST"])
def change(request: PageRequest) -> HttpResponse:
    """Four beginnings in each language."""
    languages = [code for code, _name in settings.LANGUAGES]
    now = {code: starters.of(code) for code in languages}
    form = StartersForm(request.POST if request.method == "POST" else None, now=now)
    if form.is_valid():
        starters.change(form.texts(), actor=request.user)
        return redirect(f"{reverse('chat:starters')}?saved=1")
    context = {"form": form, "saved": request.GET.get("saved") == "1"}
    return render(request, "chat/starters.html", context, status=422 if form.errors else 200)
