"""Health for machines, and the pages for what went wrong."""

from __future__ import annotations

import asyncio
import logging
import sys
from typing import Any

from channels.db import database_sync_to_async
from channels.layers import get_channel_layer
from django.contrib.auth.decorators import login_not_required
from django.core.exceptions import RequestDataTooBig, TooManyFieldsSent, TooManyFilesSent
from django.db import InterfaceError, OperationalError, connection
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.template.loader import render_to_string
from django.utils.html import conditional_escape
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe
from django_htmx.http import HttpResponseClientRefresh, reswap, retarget

from chat.engines import Engines
from chat.models import EngineConnection

log = logging.getLogger(__name__)

_PATIENCE_S = 3


@login_not_required
@require_safe
@never_cache
def healthz(request: HttpRequest) -> HttpResponse:
    """The web process is alive. Touches nothing else."""
    return HttpResponse("ok\n", content_type="text/plain")


@login_not_required
@require_safe
@never_cache
async def readyz(request: HttpRequest) -> JsonResponse:
    """Whether everything an answer needs is there; names what is missing."""
    parts = {"database": _database, "valkey": _valkey, "engine": _engine}
    results = await asyncio.gather(*(_works(name, check) for name, check in parts.items()))
    state = dict(zip(parts, results, strict=True))
    missing = [name for name, works in state.items() if not works]
    body = {"ready": not missing, "missing": missing, **state}
    return JsonResponse(body, status=503 if missing else 200)


async def _works(name: str, check: Any) -> bool:
    """Whether ``check`` passes in time. Why not is for the log, not for strangers."""
    try:
        async with asyncio.timeout(_PATIENCE_S):
            await check()
    except Exception as error:
        log.warning("%s is not ready: %s", name, type(error).__name__)
        return False
    return True


async def _database() -> None:
    def ask() -> None:
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1")

    await database_sync_to_async(ask)()


async def _valkey() -> None:
    await get_channel_layer().group_send("readyz", {"type": "ready"})


async def _engine() -> None:
    engines = Engines()
    try:
        # Not read from the database, which may be what is missing.
        bundled = EngineConnection(kind=EngineConnection.Kind.BUNDLED)
        await engines.of(bundled).health()
    finally:
        await engines.aclose()


def forbidden(request: HttpRequest, exception: Exception) -> HttpResponse:
    """A rule of the house says no, and says why. What was typed is given back; a page that offers
    what is not allowed any more is read again."""
    text = request.POST.get("text", "") if request.method == "POST" else ""
    if request.headers.get("HX-Request") and not text:
        return HttpResponseClientRefresh()
    words = str(exception)
    return _explained(request, words, "403.html", {"problem": words, "text": text}, status=403)


def not_found(request: HttpRequest, exception: Exception) -> HttpResponse:
    """Not there, or not for this person: the same page."""
    return render(request, "404.html", status=404)


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponse:
    """What was sent is too large, or nobody can read it. It cannot be given back either."""
    if isinstance(exception, RequestDataTooBig | TooManyFieldsSent | TooManyFilesSent):
        problem = _(
            "This is too large to be sent. Nothing was saved; shorten it and send it again."
        )
        return _explained(request, problem, "400.html", {"problem": problem}, status=413)
    problem = _("What was sent cannot be read. Nothing was saved; reload the page and try again.")
    return _explained(request, problem, "400.html", {"problem": problem}, status=400)


def server_error(request: HttpRequest) -> HttpResponse:
    """Something broke here, or the database is away. Must not need the database itself."""
    away = isinstance(sys.exc_info()[1], OperationalError | InterfaceError)
    status = 503 if away else 500
    text = request.POST.get("text", "") if request.method == "POST" else ""
    words = render_to_string("_cannot_save.html", {"away": away}, request)
    return _explained(request, words, "500.html", {"away": away, "text": text}, status=status)


def csrf_failure(request: HttpRequest, reason: str = "") -> HttpResponse:
    """The page is older than the session. What was typed is given back on the page."""
    words = _("This page is out of date. Reload it; your text is kept.")
    context = {"text": request.POST.get("text", "")}
    return _explained(request, words, "403_csrf.html", context, status=403)


def _explained(
    request: HttpRequest, words: str, page: str, context: dict[str, Any], *, status: int
) -> HttpResponse:
    """``words`` beside the text that is still in its place, or a whole page without scripts."""
    if request.headers.get("HX-Request"):
        response = HttpResponse(conditional_escape(words), status=status)
        return reswap(retarget(response, "#problem"), "innerHTML")
    return render(request, page, context, status=status)
