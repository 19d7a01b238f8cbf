"""A person's own pages: profile, password, where they are signed in, their data."""

from __future__ import annotations

from django.contrib.auth import update_session_auth_hash
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import translation
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from accounts import looks, signed_in
from accounts.browsers import describe
from accounts.domain import profile as verbs
from accounts.forms import ChangePasswordForm, ProfileForm
from accounts.requests import PageRequest


@require_http_methods(["GET", "POST"])
def profile(request: PageRequest) -> HttpResponse:
    """Name, language, appearance."""
    user = request.user
    now = {
        "name": user.name,
        "language": user.language or translation.get_language(),
        "theme": user.theme,
    }
    form = ProfileForm(request.POST if request.method == "POST" else None, initial=now)
    if form.is_valid():
        verbs.change(user, **form.cleaned_data)
        response = redirect(f"{reverse('accounts:profile')}?saved=profile")
        looks.remember(response, language=user.language, theme=user.theme)
        return response
    context = {"form": form, "saved": request.GET.get("saved") == "profile"}
    return render(request, "accounts/me/profile.html", context, status=422 if form.errors else 200)


@sensitive_post_parameters("current", "password", "again")
@require_http_methods(["GET", "POST"])
def password(request: PageRequest) -> HttpResponse:
    """Another password; every other browser is signed out."""
    data = request.POST if request.method == "POST" else None
    form = ChangePasswordForm(data, user=request.user)
    if form.is_valid():
        key = request.session.session_key
        verbs.change_password(request.user, password=form.cleaned_data["password"], keeping=key)
        update_session_auth_hash(request, request.user)
        return redirect(f"{reverse('accounts:password')}?saved=password")
    context = {"form": form, "saved": request.GET.get("saved") == "password"}
    return render(request, "accounts/me/password.html", context, status=422 if form.errors else 200)


@require_http_methods(["GET", "POST"])
def sessions(request: PageRequest) -> HttpResponse:
    """Where this person is signed in; one of them or all others can be ended."""
    key = request.session.session_key
    if request.method == "POST":
        if reference := request.POST.get("session"):
            ended = int(verbs.end_session(request.user, reference))
        else:
            ended = verbs.end_other_sessions(request.user, keeping=key)
        return redirect(f"{reverse('accounts:sessions')}?ended={ended}")
    found = signed_in.signed_in(request.user, this=key)
    context = {
        "sessions": [(each, describe(each.agent)) for each in found],
        "others": sum(not each.is_this for each in found),
        "ended": request.GET.get("ended", ""),
    }
    return render(request, "accounts/me/sessions.html", context)


@require_safe
def data(request: PageRequest) -> HttpResponse:
    """What can be taken along, and how an account comes to its end."""
    return render(request, "accounts/me/data.html")


@require_POST
def request_deletion(request: PageRequest) -> HttpResponse:
    """Ask the administrators for the account's deletion."""
    verbs.request_deletion(request.user)
    return redirect("accounts:data")


@require_POST
def withdraw_deletion(request: PageRequest) -> HttpResponse:
    """Stay after all."""
    verbs.withdraw_deletion(request.user)
    return redirect("accounts:data")
