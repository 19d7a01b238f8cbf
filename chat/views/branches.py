"""Branches: to ask otherwise, to go on elsewhere, to delete."""

from __future__ import annotations

from uuid import UUID

from django.http import HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST
from django_htmx.http import HttpResponseClientRedirect, reswap, retarget

from accounts.requests import PageRequest
from chat.domain import access, branches, forks, keeping, messages
from chat.forms import MessageForm, OnceForm
from chat.views import pages, replies


@require_http_methods(["GET", "POST"])
@never_cache
def edit(request: PageRequest, message_id: UUID) -> HttpResponse:
    """The question in a field; what is sent becomes another version beside it."""
    found = access.question_for(request.user, message_id)
    form = MessageForm(request.POST if request.method == "POST" else None)
    if form.is_valid():
        try:
            asked = messages.edit(found, **form.cleaned_data, actor=request.user)
            return replies.branch(request, asked.question)
        except keeping.TemporaryOnly as refusal:
            form.add_error("text", str(refusal))
    if not form.is_bound:
        return replies.in_place(request, found, "chat/_edit.html", text=found.text)
    response = replies.in_place(
        request,
        found,
        "chat/_edit.html",
        text=request.POST.get("text", ""),
        problem=form.problem,
        status=422,
    )
    return reswap(retarget(response, f"#f-{found.pk}"), "innerHTML")


@require_http_methods(["GET", "POST"])
@never_cache
def delete(request: PageRequest, message_id: UUID) -> HttpResponse:
    """Ask, then delete the message and what follows it; the reply offers to undo that."""
    found = access.message_for(request.user, message_id)
    branch = branches.of(found)
    if branch.is_all:
        return _elsewhere(request, reverse("chat:delete", args=[found.conversation_id]))
    if request.method == "GET":
        return replies.in_place(request, found, "chat/_delete.html", branch=branch)
    done = branches.delete(found, actor=request.user)
    if done.shown is None:
        return _elsewhere(request, reverse("chat:conversation", args=[found.conversation_id]))
    follows = done.shown.pk != branch.top.parent_id
    reply = replies.branch if follows else replies.ended
    return reply(request, done.shown, cut=done.branch)


@require_POST
def restore(request: PageRequest, conversation_id: UUID, branch_id: UUID) -> HttpResponse:
    """Undo a deletion."""
    found = access.conversation_for(request.user, conversation_id)
    try:
        top = branches.restore(found, branch_id, actor=request.user)
    except branches.Erased:
        return replies.too_late(request, found)
    return replies.branch(request, top)


@require_POST
def fork(request: PageRequest, message_id: UUID) -> HttpResponse:
    """A new conversation that begins with everything up to this answer."""
    found = access.answer_for(request.user, message_id)
    form = OnceForm(request.POST)
    if not form.is_valid():
        context = pages.conversation_context(request, found.conversation)
        return replies.refused(request, form.problem, context, status=422)
    made = forks.fork(found, conversation_id=form.cleaned_data["message_id"], actor=request.user)
    return _elsewhere(request, reverse("chat:conversation", args=[made.pk]))


def _elsewhere(request: PageRequest, address: str) -> HttpResponse:
    return HttpResponseClientRedirect(address) if request.htmx else redirect(address)
