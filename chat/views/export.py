"""Conversations to take along: one as Markdown or JSON, all as a ZIP file."""

from __future__ import annotations

from tempfile import SpooledTemporaryFile
from uuid import UUID

from django.http import FileResponse, HttpResponse
from django.utils import timezone
from django.utils.http import content_disposition_header
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST, require_safe

from accounts.requests import PageRequest
from chat.domain import access, archive, transcripts

_IN_MEMORY = 4 * 1024 * 1024


@require_safe
@never_cache
def as_markdown(request: PageRequest, conversation_id: UUID) -> HttpResponse:
    """What a reader sees, as one text."""
    found = access.conversation_for(request.user, conversation_id)
    end = access.leaf_for(request.user, found, request.GET.get("at", ""))
    text = transcripts.markdown(found, end)
    return _download(text, f"{archive.name_of(found)}.md", "text/markdown; charset=utf-8")


@require_safe
@never_cache
def as_json(request: PageRequest, conversation_id: UUID) -> HttpResponse:
    """The whole tree, for programs."""
    found = access.conversation_for(request.user, conversation_id)
    return _download(archive.text_of(found), f"{archive.name_of(found)}.json", "application/json")


def _download(text: str, name: str, kind: str) -> HttpResponse:
    response = HttpResponse(text, content_type=kind)
    response["Content-Disposition"] = content_disposition_header(True, name) or "attachment"
    return response


@require_POST
def everything(request: PageRequest) -> FileResponse:
    """All conversations of this person, each as Markdown and JSON."""
    file = SpooledTemporaryFile(_IN_MEMORY)  # noqa: SIM115 - the response closes it
    archive.write(request.user, file)
    file.seek(0)
    name = f"konak {timezone.localdate():%Y-%m-%d}.zip"
    return FileResponse(file, as_attachment=True, filename=name, content_type="application/zip")
