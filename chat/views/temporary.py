"""The page of a temporary chat. All that is said on it goes by its socket, and stays nowhere."""

from __future__ import annotations

from django.http import HttpResponse
from django.shortcuts import render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from accounts.requests import PageRequest
from chat.domain import catalogue, rights
from chat.views import frames


@require_safe
@never_cache
def temporary(request: PageRequest) -> HttpResponse:
    """An empty one: each page is another conversation."""
    context = {
        **frames.frame(request),
        "is_temporary": True,
        "language_models": rights.offered_to(request.user),
        "chosen": catalogue.default_for(request.user),
    }
    return render(request, "chat/temporary.html", context)
