"""Search over one's own conversations: a page of its own, and a list while one is typing."""

from __future__ import annotations

from django.http import HttpResponse
from django.shortcuts import render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from accounts.requests import PageRequest
from chat.domain import search as searching
from chat.domain.queries import MOST_CHARACTERS
from chat.views import frames


@require_safe
@never_cache
def search(request: PageRequest) -> HttpResponse:
    """What is found for ``q``. Reading what is one's own is nothing for the ledger."""
    q = request.GET.get("q", "").replace("\0", "")[:MOST_CHARACTERS]
    context = {"q": q, "found": searching.find(request.user, q)}
    if request.htmx:
        return render(request, "chat/_search_answer.html", context)
    return render(request, "chat/search.html", {**frames.frame(request), **context})
