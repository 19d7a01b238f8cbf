"""Asking, stopping and retrying. Commands come by POST; the answer itself comes by the socket."""

from __future__ import annotations

from typing import Any
from uuid import UUID, uuid4

from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST, require_safe
from django_htmx.http import HttpResponseClientRedirect, reswap, retarget

from accounts.requests import PageRequest
from chat.domain import access, answers, generations, messages
from chat.forms import MessageForm, NewConversationForm
from chat.models import Message
from chat.views import pages


@require_POST
def start(request: PageRequest) -> HttpResponse:
    """The first question of a new conversation."""
    form = NewConversationForm(request.POST, user=request.user)
    if not form.is_valid():
        return _refused(request, form.problem, pages.new_context(request), status=422)
    asked = messages.ask(request.user, **form.cleaned_data)
    if request.htmx:
        return HttpResponseClientRedirect(_address(asked.answer))
    return redirect(_address(asked.answer))


@require_POST
def ask(request: PageRequest, conversation_id: UUID) -> HttpResponse:
    """The next question of a conversation."""
    conversation = access.conversation_for(request.user, conversation_id)
    form = MessageForm(request.POST)
    problem, status = form.problem, 422
    if form.is_valid():
        try:
            asked = messages.ask(request.user, conversation=conversation, **form.cleaned_data)
        except messages.StillWriting:
            problem = _("The answer before is still being written. Stop it, or wait for its end.")
            status = 409
        else:
            return _accepted(request, asked)
    context = pages.conversation_context(request, conversation)
    return _refused(request, problem, context, status=status)


def _accepted(request: PageRequest, asked: messages.Asked) -> HttpResponse:
    if not request.htmx:
        return redirect(_address(asked.answer))
    question, answer = answers.read([asked.question, asked.answer])
    context = {
        "conversation": asked.conversation,
        "question": question,
        "reading": answer,
        "active": answer if answer.is_active else None,
        "ahead": asked.ahead,
        "message_id": uuid4(),
    }
    return render(request, "chat/_asked.html", context)


def _refused(
    request: PageRequest, problem: str, context: dict[str, Any], *, status: int
) -> HttpResponse:
    """Say why beside the text; the text itself stays where it was typed."""
    if request.htmx:
        response = render(request, "chat/_problem.html", {"problem": problem}, status=status)
        return reswap(retarget(response, "#problem"), "innerHTML")
    context |= {"problem": problem, "text": request.POST.get("text", "")}
    return render(request, "chat/page.html", context, status=status)


def _address(answer: Message) -> str:
    return reverse("chat:conversation", args=[answer.conversation_id])


@require_safe
@never_cache
def answer(request: PageRequest, message_id: UUID) -> HttpResponse:
    """One answer as it stands: what a page asks for while its socket is away."""
    found = access.answer_for(request.user, message_id)
    if not request.htmx:
        return redirect(_address(found))
    return _answer_fragment(request, found)


def _answer_fragment(request: PageRequest, found: Message) -> HttpResponse:
    reading = answers.one(found)
    context = {
        "reading": reading,
        "conversation": found.conversation,
        "active": reading if reading.is_active else None,
    }
    return render(request, "chat/_answer_and_composer.html", context)


@require_POST
def stop(request: PageRequest, message_id: UUID) -> HttpResponse:
    """End the answer now; what is written of it stays."""
    found = access.answer_for(request.user, message_id)
    generations.stop(found, actor=request.user)
    return _answer_fragment(request, found) if request.htmx else redirect(_address(found))


@require_POST
def retry(request: PageRequest, message_id: UUID) -> HttpResponse:
    """Write a failed or interrupted answer again, or on."""
    found = access.answer_for(request.user, message_id)
    written = generations.retry(found, actor=request.user)
    if request.htmx and written.pk == found.pk:
        return _answer_fragment(request, written)
    if request.htmx:
        return HttpResponseClientRedirect(_address(found))
    return redirect(_address(found))
