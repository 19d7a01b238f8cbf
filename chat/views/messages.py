"""Asking. Commands come by POST; the answer itself comes by the socket."""

from __future__ import annotations

from uuid import UUID

from django.http import HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST
from django_htmx.http import HttpResponseClientRedirect

from accounts.requests import PageRequest
from chat.domain import access, messages, paths
from chat.forms import NewConversationForm, NextMessageForm
from chat.views import asked, pages, replies


@require_POST
def start(request: PageRequest) -> HttpResponse:
    """The first question of a new conversation."""
    form = NewConversationForm(request.POST, user=request.user)
    if not form.is_valid():
        return replies.refused(request, form.problem, pages.new_context(request), status=422)
    made = messages.ask(request.user, **form.cleaned_data)
    address = reverse("chat:conversation", args=[made.conversation.pk])
    return HttpResponseClientRedirect(address) if request.htmx else redirect(address)


@require_POST
def ask(request: PageRequest, conversation_id: UUID) -> HttpResponse:
    """The next question of a conversation, after the message that the page showed last."""
    conversation = access.conversation_for(request.user, conversation_id)
    form = NextMessageForm(request.POST)
    problem, status = form.problem, 422
    if form.is_valid():
        try:
            made = messages.ask(request.user, conversation=conversation, **form.cleaned_data)
            return _accepted(request, made)
        except messages.StillWriting:
            problem = _("The answer before is still being written. Stop it, or wait for its end.")
        except messages.Deleted:
            problem = _(
                "The message before was deleted in another window. Your text is kept; "
                "reload the page and send it again."
            )
        status = 409
    parent = form.cleaned_data.get("parent")
    shown = conversation.messages.filter(pk=parent).first() if parent else None
    page = paths.through(shown) if shown else None
    context = pages.conversation_context(request, conversation, page)
    return replies.refused(request, problem, context, status=status)


def _accepted(request: PageRequest, made: messages.Asked) -> HttpResponse:
    if not request.htmx:
        return redirect(replies.address(made.question))
    return HttpResponse(asked.html(made))
