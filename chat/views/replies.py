"""How commands are answered: with the branch they lead to, a form in its place, or a refusal."""

from __future__ import annotations

from typing import Any
from uuid import uuid4

from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.http import url_has_allowed_host_and_scheme
from django_htmx.http import replace_url, reswap, retarget

from accounts.requests import PageRequest
from chat.domain import paths, window
from chat.domain.paths import Page
from chat.models import Conversation, Message
from chat.views import frames


def address(message: Message) -> str:
    """The page that shows ``message`` and the newest of what follows it."""
    page = reverse("chat:conversation", args=[message.conversation_id])
    return f"{page}?at={message.pk}#m-{message.pk}"


def stretch(request: PageRequest, page: Page, **more: Any) -> HttpResponse:
    """Messages for a page that is open. With ``goes_on`` its composer goes on from the last."""
    context = {"page": page, "active": page.active, "fill": window.fill(page.readings), **more}
    return render(request, "chat/_stretch.html", context)


def branch(request: PageRequest, message: Message, **more: Any) -> HttpResponse:
    """Go on with ``message`` and what follows it, in the place of another version."""
    if not request.htmx:
        return redirect(address(message))
    page = paths.since(message, including=True)
    response = stretch(request, page, goes_on=True, version=page.readings[0], **more)
    response["HX-Reswap"] = "tail"  # chat.js: in the place of the message and all after it
    return replace_url(response, address(message).partition("#")[0])


def ended(request: PageRequest, last: Message, **more: Any) -> HttpResponse:
    """Nothing follows ``last`` any more."""
    if not request.htmx:
        return redirect(address(last))
    response = stretch(request, Page([], last), goes_on=True, **more)
    return replace_url(response, address(last).partition("#")[0])


def in_place(
    request: PageRequest, message: Message, form: str, *, status: int = 200, **more: Any
) -> HttpResponse:
    """A form about ``message``: inside it on an open page, else on a page of its own."""
    context = {"message": message, "message_id": uuid4(), "form_template": form, **more}
    if request.htmx:
        return render(request, form, context, status=status)
    around = frames.frame(request, message.conversation)
    return render(request, "chat/act.html", {**around, **context}, status=status)


def too_late(request: PageRequest, conversation: Conversation) -> HttpResponse:
    """What was deleted cannot be brought back any more."""
    if request.htmx:
        return reswap(render(request, "chat/_too_late.html", status=409), "outerHTML")
    return redirect("chat:conversation", conversation_id=conversation.pk)


def refused(
    request: PageRequest, problem: str, context: dict[str, Any], *, status: int
) -> HttpResponse:
    """Say why beside the text; the text itself stays where it was typed."""
    if request.htmx:
        return said_at("#problem", request, problem, status=status)
    context |= {"problem": problem, "text": request.POST.get("text", "")}
    return render(request, "chat/page.html", context, status=status)


def back(request: PageRequest, *, otherwise: str) -> str:
    """The page of the house that a form came from."""
    target = request.POST.get("next", "")
    inside = target.startswith("/") and url_has_allowed_host_and_scheme(target, allowed_hosts=None)
    return target if inside else otherwise


def said_at(place: str, request: PageRequest, problem: str, *, status: int = 422) -> HttpResponse:
    """What is wrong, in the element ``place`` of an open page."""
    response = render(request, "chat/_problem.html", {"problem": problem}, status=status)
    return reswap(retarget(response, place), "innerHTML")
