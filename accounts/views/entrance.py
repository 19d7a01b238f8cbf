"""Coming in and going out: sign-in, sign-out, one-time links, the choice of language."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.contrib.auth.decorators import login_not_required
from django.db import transaction
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import redirect, render
from django.utils.http import url_has_allowed_host_and_scheme
from django.utils.translation import check_for_language
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods, require_POST

from accounts import looks, sessions
from accounts.domain import audit, provisioning
from accounts.forms import FirstAdministratorForm, PasswordForm, SignInForm
from accounts.models import AuditEntry, SetupLink, User


def _next_page(request: HttpRequest) -> str:
    """Where to go on, only ever inside the house."""
    target = request.POST.get("next") or request.GET.get("next") or ""
    inside = target.startswith("/") and url_has_allowed_host_and_scheme(target, allowed_hosts=None)
    return target if inside else "/"


def _enter(request: HttpRequest, user: User) -> HttpResponse:
    """Start the session and bring the person where they wanted to go."""
    draft = request.session.get("draft")
    with transaction.atomic():
        sessions.start(request, user)
        audit.record("session.started", actor=user)
    if draft and draft["for"] != str(user.pk):
        del request.session["draft"]
    response = HttpResponseRedirect(_next_page(request))
    looks.remember(response, language=user.language, theme=user.theme)
    return response


@login_not_required
@sensitive_post_parameters("password")
@require_http_methods(["GET", "POST"])
def sign_in(request: HttpRequest) -> HttpResponse:
    """The door."""
    if request.user.is_authenticated:
        return redirect(_next_page(request))
    form = SignInForm(request.POST or None)
    if request.method == "POST":
        if form.is_valid() and form.user is not None:
            return _enter(request, form.user)
        audit.record("session.failed", actor=None, outcome=AuditEntry.Outcome.DENIED)
    context = {
        "form": form,
        "next": _next_page(request),
        "draft_kept": "draft" in request.session,
        "empty_house": not provisioning.has_administrator(),
    }
    return render(request, "accounts/sign_in.html", context, status=422 if form.errors else 200)


@require_POST
def sign_out(request: HttpRequest) -> HttpResponse:
    """This browser forgets the person; others of theirs stay signed in."""
    with transaction.atomic():
        if isinstance(request.user, User):
            audit.record("session.ended", actor=request.user)
        sessions.end_this(request)
    return redirect("accounts:sign_in")


@login_not_required
@sensitive_post_parameters("password", "again")
@require_http_methods(["GET", "POST"])
def welcome(request: HttpRequest, token: str) -> HttpResponse:
    """A one-time link: create the first administrator, or set a password."""
    try:
        link = provisioning.open_link(token)
        first = link.purpose == SetupLink.Purpose.FIRST_ADMINISTRATOR
        form = _welcome_form(request, link)
        if request.method == "POST" and form.is_valid():
            return _enter(request, _redeem(link, form.cleaned_data))
    except provisioning.LinkInvalid:
        return render(request, "accounts/link_invalid.html", status=404)
    context = {"form": form, "first": first, "person": link.user}
    return render(request, "accounts/welcome.html", context, status=422 if form.errors else 200)


def _welcome_form(request: HttpRequest, link: SetupLink) -> PasswordForm:
    data = request.POST if request.method == "POST" else None
    if link.purpose == SetupLink.Purpose.FIRST_ADMINISTRATOR:
        return FirstAdministratorForm(data)
    return PasswordForm(data, user=link.user)


def _redeem(link: SetupLink, data: dict[str, Any]) -> User:
    if link.purpose == SetupLink.Purpose.FIRST_ADMINISTRATOR:
        return provisioning.create_first_administrator(
            link, name=data["name"], email=data["email"], password=data["password"]
        )
    return provisioning.set_password(link, password=data["password"])


@login_not_required
@require_POST
def set_language(request: HttpRequest) -> HttpResponse:
    """The language of the pages: remembered by the browser, and by the account when signed in."""
    language = request.POST.get("language", "")
    response = HttpResponseRedirect(_next_page(request))
    if language in dict(settings.LANGUAGES) and check_for_language(language):
        looks.remember(response, language=language)
        if isinstance(request.user, User):
            request.user.language = language
            request.user.save(update_fields=["language"])
    return response
