"""Moving in: a file that another product exported, and the report of what came of it."""

from __future__ import annotations

from typing import Any, Final

from django.conf import settings
from django.http import HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods

from accounts.requests import PageRequest
from chat.domain import catalogue, imports, keeping
from chat.forms import ImportForm

# In the address of the page that a file leads to which was too large to be read at all.
TOO_LARGE: Final = "too-large"


@require_http_methods(["GET", "POST"])
def move_in(request: PageRequest) -> HttpResponse:
    """The form, or what came in. Where the file cannot be read, nothing is stored."""
    keeping.check(request.user)
    data = (request.POST, request.FILES) if request.method == "POST" else ()
    form = ImportForm.refused() if TOO_LARGE in request.GET and not data else ImportForm(*data)
    context: dict[str, Any] = {"form": form, "limit": settings.IMPORT_MAX_MIB}
    if form.is_valid():
        language_model = catalogue.default_for(request.user)
        if language_model is None:
            form.add_error("file", _("No model is here yet to go on with. Try again later."))
        else:
            try:
                found = imports.read(form.cleaned_data["file"].read())
                context["report"] = imports.move_in(found, request.user, language_model)
            except imports.Unreadable as reason:
                form.add_error("file", _why(reason))
    return render(request, "chat/import.html", context, status=422 if form.errors else 200)


def _why(reason: imports.Unreadable) -> str:
    return {
        imports.Unreadable.ZIP: _(
            "This is a ZIP file. Unpack it and choose the file conversations.json, or one of those"
            " whose names end with .json."
        ),
        imports.Unreadable.NOT_JSON: _(
            "This is no JSON file, or it was cut off on the way. Nothing was taken over; export it"
            " again and choose the whole file."
        ),
        imports.Unreadable.UNKNOWN: _(
            "Nothing in this file is known here. Konak reads the JSON exports of ChatGPT, Open"
            " WebUI and its own."
        ),
    }[reason.why]
