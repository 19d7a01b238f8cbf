"""Sharing a conversation inside the organisation: making a link, taking it back, reading it."""

from __future__ import annotations

from typing import Any
from urllib.parse import urljoin
from uuid import UUID

from django.conf import settings
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from accounts.requests import PageRequest
from chat.domain import access, sharing
from chat.forms import ShareForm
from chat.views import frames


@require_http_methods(["GET", "POST"])
@never_cache
def share(request: PageRequest, conversation_id: UUID) -> HttpResponse:
    """Who may read it, and the links there are."""
    found = access.conversation_for(request.user, conversation_id)
    data = request.POST if request.method == "POST" else None
    form = ShareForm(data, user=request.user)
    leaf = access.leaf_for(request.user, found, request.GET.get("at", ""))
    if leaf is None:
        return redirect("chat:conversation", conversation_id=found.pk)
    if form.is_valid():
        chosen = {name: list(form.cleaned_data[name]) for name in ("people", "groups")}
        sharing.share(leaf, actor=request.user, **chosen)
        return redirect("chat:share", conversation_id=found.pk)
    links = [(each, _address(each.pk)) for each in sharing.of(found)]
    context: dict[str, Any] = {**frames.frame(request, found), "form": form, "links": links}
    return render(request, "chat/share.html", context, status=422 if form.errors else 200)


def _address(share_id: UUID) -> str:
    return urljoin(settings.PUBLIC_URL, reverse("chat:shared", args=[share_id]))


@require_POST
def revoke(request: PageRequest, share_id: UUID) -> HttpResponse:
    """The link leads nowhere any more."""
    found = access.own_share_for(request.user, share_id)
    sharing.revoke(found, actor=request.user)
    return redirect("chat:share", conversation_id=found.leaf.conversation_id)


@require_safe
@never_cache
def shared(request: PageRequest, share_id: UUID) -> HttpResponse:
    """The conversation as it was, to read."""
    found = access.share_for(request.user, share_id)
    asked = request.GET.get("page", "1")
    page = int(asked) if asked.isascii() and asked.isdecimal() and len(asked) < 6 else 1
    readings, pages = sharing.read(found, page=page, actor=request.user)
    context = {
        "share": found,
        "conversation": found.leaf.conversation,
        "readings": readings,
        "page": min(max(page, 1), pages),
        "pages": pages,
    }
    return render(request, "chat/shared.html", context)
