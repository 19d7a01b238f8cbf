"""All of a person's conversations: by folder, archived; and what is done with several at once."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.core.paginator import Paginator
from django.http import Http404, HttpResponse, HttpResponseBadRequest
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST, require_safe

from accounts.requests import PageRequest
from chat.domain import access, removal, shelves
from chat.forms import FolderForm
from chat.models import Folder
from chat.views import frames, replies

PAGE = 50
MOST_AT_ONCE = 500
_ACTS = {
    "pin": shelves.pin,
    "unpin": shelves.unpin,
    "archive": shelves.archive,
    "unarchive": shelves.unarchive,
}


@require_safe
@never_cache
def history(request: PageRequest) -> HttpResponse:
    """Everything that is not archived, the newest first."""
    found = access.conversations_of(request.user).filter(archived_at=None)
    return _shown(request, found, shelf="all")


@require_safe
@never_cache
def archive(request: PageRequest) -> HttpResponse:
    """What was put out of the way."""
    found = access.conversations_of(request.user).filter(archived_at__isnull=False)
    return _shown(request, found, shelf="archive")


@require_safe
@never_cache
def folder(request: PageRequest, folder_id: UUID) -> HttpResponse:
    """What lies in one folder."""
    return _of_folder(request, shelves.folder_for(request.user, folder_id))


def _of_folder(request: PageRequest, found: Folder, **more: Any) -> HttpResponse:
    inside = access.conversations_of(request.user).filter(folder=found, archived_at=None)
    form = FolderForm(initial={"name": found.name})
    return _shown(request, inside, **{"shelf": "folder", "folder": found, "form": form, **more})


def _shown(request: PageRequest, found: Any, *, status: int = 200, **more: Any) -> HttpResponse:
    pages = Paginator(found.select_related("folder").order_by("-updated_at", "pk"), PAGE)
    page = pages.get_page(request.GET.get("page", "1"))
    context = {**frames.frame(request), "form": FolderForm(), "page": page, **more}
    return render(request, "chat/history.html", context, status=status)


@require_POST
def act(request: PageRequest) -> HttpResponse:
    """Pin, archive, move or delete those that are ticked, and back to where they were ticked."""
    wanted, ids = request.POST.get("act", ""), _ids(request)
    if wanted in _ACTS:
        _ACTS[wanted](request.user, ids)
    elif wanted == "move":
        name = request.POST.get("folder", "")
        into = shelves.folder_for(request.user, _id(name)) if name else None
        shelves.move(request.user, ids, into)
    elif wanted == "delete":
        frames.offer_undo(request, removal.remove(request.user, ids))
    else:
        return HttpResponseBadRequest()
    return redirect(replies.back(request, otherwise=reverse("chat:history")))


@require_POST
def restore(request: PageRequest) -> HttpResponse:
    """Undo a deletion."""
    removal.bring_back(request.user, _ids(request))
    return redirect(replies.back(request, otherwise=reverse("chat:history")))


@require_POST
def add_folder(request: PageRequest) -> HttpResponse:
    """A new folder, and then what lies in it: nothing yet."""
    form = FolderForm(request.POST)
    if form.is_valid():
        try:
            made = shelves.add_folder(request.user, form.cleaned_data["name"])
            return redirect("chat:folder", made.pk)
        except shelves.NameTaken:
            form.add_error("name", _("You have a folder of this name already."))
    found = access.conversations_of(request.user).filter(archived_at=None)
    return _shown(request, found, shelf="all", form=form, status=422)


@require_POST
def rename_folder(request: PageRequest, folder_id: UUID) -> HttpResponse:
    """Another name for a folder."""
    found, form = shelves.folder_for(request.user, folder_id), FolderForm(request.POST)
    if form.is_valid():
        try:
            shelves.rename_folder(found, form.cleaned_data["name"], actor=request.user)
            return redirect("chat:folder", found.pk)
        except shelves.NameTaken:
            form.add_error("name", _("You have a folder of this name already."))
    return _of_folder(request, found, form=form, status=422)


@require_POST
def delete_folder(request: PageRequest, folder_id: UUID) -> HttpResponse:
    """The folder goes, what lay in it stays."""
    shelves.delete_folder(shelves.folder_for(request.user, folder_id), actor=request.user)
    return redirect("chat:history")


def _ids(request: PageRequest) -> list[UUID]:
    return [_id(each) for each in request.POST.getlist("conversation")[:MOST_AT_ONCE]]


def _id(text: str) -> UUID:
    try:
        return UUID(text)
    except ValueError:
        raise Http404 from None
