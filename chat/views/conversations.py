"""Another title for a conversation, and its end."""

from __future__ import annotations

from uuid import UUID

from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from accounts.requests import PageRequest
from chat.domain import access, conversations, removal
from chat.forms import TitleForm
from chat.views import frames


@require_http_methods(["GET", "POST"])
@never_cache
def rename(request: PageRequest, conversation_id: UUID) -> HttpResponse:
    """A page with one field; with scripts it opens in the conversation's own row."""
    found = access.conversation_for(request.user, conversation_id)
    data = request.POST if request.method == "POST" else None
    form = TitleForm(data, initial={"title": found.title})
    if form.is_valid():
        conversations.rename(found, form.cleaned_data["title"], actor=request.user)
        return redirect("chat:conversation", conversation_id=found.pk)
    context = {**frames.frame(request, found), "form": form}
    return render(request, "chat/rename.html", context, status=422 if form.errors else 200)


@require_http_methods(["GET", "POST"])
@never_cache
def delete(request: PageRequest, conversation_id: UUID) -> HttpResponse:
    """Ask by name, then delete; the next page offers to undo it."""
    found = access.conversation_for(request.user, conversation_id)
    if request.method == "POST":
        frames.offer_undo(request, removal.remove(request.user, [found.pk]))
        return redirect("chat:new")
    return render(request, "chat/delete.html", frames.frame(request, found))
