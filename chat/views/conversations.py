"""Another title for a conversation, another model, and its end."""

from __future__ import annotations

from uuid import UUID

from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST

from accounts.requests import PageRequest
from chat.domain import access, conversations, removal, rights
from chat.forms import TitleForm
from chat.views import frames, replies


@require_http_methods(["GET", "POST"])
@never_cache
def rename(request: PageRequest, conversation_id: UUID) -> HttpResponse:
    """A page with one field; with scripts the title in the bar becomes one."""
    found = access.conversation_for(request.user, conversation_id)
    data = request.POST if request.method == "POST" else None
    form = TitleForm(data, initial={"title": found.title})
    if form.is_valid():
        conversations.rename(found, form.cleaned_data["title"], actor=request.user)
        if request.htmx:
            return render(request, "chat/_naming.html", {"conversation": found, "saved": True})
        return redirect("chat:conversation", conversation_id=found.pk)
    if request.htmx and form.errors:
        return replies.said_at("#rename-problem", request, form.problem)
    context = {**frames.frame(request, found), "form": form}
    return render(request, "chat/rename.html", context, status=422 if form.errors else 200)


@require_POST
def choose_model(request: PageRequest, conversation_id: UUID) -> HttpResponse:
    """Who answers from now on. What is typed meanwhile is the draft, which the page keeps."""
    found = access.conversation_for(request.user, conversation_id)
    named = request.POST.get("language_model")
    for model in rights.offered_to(request.user):
        if str(model.pk) == named:
            conversations.choose_model(found, model, actor=request.user)
    return redirect(replies.back(request, otherwise=reverse("chat:conversation", args=[found.pk])))


@require_http_methods(["GET", "POST"])
@never_cache
def delete(request: PageRequest, conversation_id: UUID) -> HttpResponse:
    """Ask by name, then delete; the next page offers to undo it."""
    found = access.conversation_for(request.user, conversation_id)
    if request.method == "POST":
        frames.offer_undo(request, removal.remove(request.user, [found.pk]))
        return redirect("chat:new")
    return render(request, "chat/delete.html", frames.frame(request, found))
