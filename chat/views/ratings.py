"""Saying what one thinks of an answer."""

from __future__ import annotations

from uuid import UUID

from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from accounts.requests import PageRequest
from chat.domain import access, answers, ratings
from chat.forms import RatingForm
from chat.views import replies


@require_http_methods(["GET", "POST"])
@never_cache
def rate(request: PageRequest, message_id: UUID) -> HttpResponse:
    """A click says that it is good, or takes back what was said; a form asks what is not good."""
    found = access.answer_for(request.user, message_id)
    form = RatingForm(request.POST if request.method == "POST" else None)
    if form.is_valid():
        said = form.cleaned_data
        ratings.rate(found, said["rating"], reason=said["reason"], actor=request.user)
        if not request.htmx:
            return redirect(replies.address(found))
        return render(request, "chat/_answer.html", {"reading": answers.one(found)})
    status = 422 if form.errors else 200
    reason = request.POST.get("reason", found.rating_reason)
    return replies.in_place(
        request, found, "chat/_rate.html", status=status, problem=form.problem, reason=reason
    )
