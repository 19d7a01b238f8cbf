"""Every page needs a signed-in person unless its view says otherwise; nothing typed gets lost."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, cast
from urllib.parse import urlencode, urlsplit

from django.conf import settings
from django.contrib.auth.middleware import LoginRequiredMiddleware
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.http.response import HttpResponseBase
from django.shortcuts import resolve_url
from django.utils.http import url_has_allowed_host_and_scheme

from accounts import sessions
from accounts.domain import audit

if TYPE_CHECKING:
    from accounts.requests import PageRequest


class SignInRequired(LoginRequiredMiddleware):
    """Sends people without a session to the sign-in page and back again.

    A text that was being sent when the session ended is kept for the same person: by the browser
    where scripts run, otherwise in the new session.
    """

    def process_view(
        self, request: HttpRequest, view_func: Callable[..., Any], view_args: Any, view_kwargs: Any
    ) -> HttpResponseBase | None:
        """Let signed-in people through and note that their session is in use."""
        audit.address.set(request.META.get("REMOTE_ADDR"))
        if not getattr(view_func, "login_required", True):
            return None  # without a look at the session: health must not need the database
        if request.user.is_authenticated:
            cast("PageRequest", request).session.touch()
        return super().process_view(request, view_func, view_args, view_kwargs)

    def handle_no_permission(  # type: ignore[override]  # htmx is redirected by a header
        self, request: HttpRequest, view_func: Any
    ) -> HttpResponse:
        """To the sign-in page, with the way back."""
        back = self._page_of(request)
        target = f"{resolve_url('accounts:sign_in')}?{urlencode({'next': back})}"
        if request.headers.get("HX-Request"):
            return HttpResponse(status=204, headers={"HX-Redirect": target})
        if request.method == "POST" and request.POST.get("text"):
            self._keep_draft(request)
        return HttpResponseRedirect(target)

    def _page_of(self, request: HttpRequest) -> str:
        """The page the person was on: this one, or the one that posted."""
        if request.method == "GET" and not request.headers.get("HX-Request"):
            return request.get_full_path()
        referer = request.headers.get("HX-Current-URL") or request.headers.get("Referer") or "/"
        if not url_has_allowed_host_and_scheme(referer, allowed_hosts={request.get_host()}):
            return "/"
        return urlsplit(referer).path or "/"

    def _keep_draft(self, request: HttpRequest) -> None:
        owner = sessions.owner_of_expired(request.COOKIES.get(settings.SESSION_COOKIE_NAME))
        if owner is None:
            return
        request.session["draft"] = {"for": owner, "text": request.POST["text"]}
