"""People and groups, for administrators. To everybody else these pages do not exist."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any
from urllib.parse import urljoin
from uuid import UUID

from django.conf import settings
from django.core.paginator import Paginator
from django.db.models import Count
from django.http import Http404, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from accounts import mail
from accounts.domain import finding, policies, provisioning
from accounts.forms import GroupForm, GroupPeopleForm, NewPersonForm, PersonForm
from accounts.models import Group, SetupLink, User
from accounts.requests import PageRequest

PAGE = 50
View = Callable[..., HttpResponse]


def administrators_only(view: View) -> View:
    """404 for everybody else, as for any page that is not there."""

    @wraps(view)
    def guarded(request: PageRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        if not policies.may_manage_people(request.user):
            raise Http404
        return view(request, *args, **kwargs)

    return guarded


@administrators_only
@require_safe
def people(request: PageRequest) -> HttpResponse:
    """Everybody, or those who were looked for; a page at a time."""
    q = request.GET.get("q", "")
    page = Paginator(finding.people(q), PAGE).get_page(request.GET.get("page"))
    return render(request, "accounts/people.html", {"page": page, "q": q})


def _show_link(request: PageRequest, person: User, token: str) -> HttpResponse:
    """The one-time link, shown this once and sent where mail is set up."""
    url = urljoin(settings.PUBLIC_URL, reverse("accounts:welcome", args=[token]))
    context = {
        "person": person,
        "url": url,
        "sent": mail.send_setup_link(person, url),
        "hours": settings.SETUP_LINK_HOURS,
    }
    return render(request, "accounts/link_made.html", context)


@administrators_only
@require_http_methods(["GET", "POST"])
def add_person(request: PageRequest) -> HttpResponse:
    """Invite somebody."""
    form = NewPersonForm(request.POST or None)
    if form.is_valid():
        try:
            person, token = provisioning.add_person(actor=request.user, **form.cleaned_data)
            return _show_link(request, person, token)
        except provisioning.AddressTaken:
            form.add_error("email", _("Somebody with this e-mail address is already here."))
    status = 422 if form.errors else 200
    return render(request, "accounts/add_person.html", {"form": form}, status=status)


@administrators_only
@require_http_methods(["GET", "POST"])
def person(request: PageRequest, person_id: UUID) -> HttpResponse:
    """One person: name, rights, groups."""
    user = get_object_or_404(User, pk=person_id)
    initial = {
        "name": user.name,
        "is_administrator": user.is_administrator,
        "manages_models": user.manages_models,
        "groups": user.groups.all(),
    }
    form = PersonForm(request.POST or None, initial=initial)
    if form.is_valid():
        try:
            provisioning.change_person(user, actor=request.user, **form.cleaned_data)
            return redirect("accounts:people")
        except provisioning.LastAdministrator:
            form.add_error("is_administrator", _last_administrator())
    context = {"person": user, "form": form}
    return render(request, "accounts/person.html", context, status=422 if form.errors else 200)


def _last_administrator() -> str:
    return _("This is the only active administrator. Make somebody else one first.")


@administrators_only
@require_POST
def make_link(request: PageRequest, person_id: UUID) -> HttpResponse:
    """A new one-time link to set a password; the earlier one stops working."""
    user = get_object_or_404(User, pk=person_id, is_active=True)
    token = provisioning.make_link(SetupLink.Purpose.PASSWORD, user=user, actor=request.user)
    return _show_link(request, user, token)


@administrators_only
@require_POST
def deactivate(request: PageRequest, person_id: UUID) -> HttpResponse:
    """Sign-in closed, sessions and sockets end now."""
    user = get_object_or_404(User, pk=person_id)
    try:
        provisioning.deactivate(user, actor=request.user)
    except provisioning.LastAdministrator:
        form = PersonForm(initial={"name": user.name, "groups": user.groups.all()})
        context = {"person": user, "form": form, "problem": _last_administrator()}
        return render(request, "accounts/person.html", context, status=409)
    return redirect("accounts:people")


@administrators_only
@require_POST
def activate(request: PageRequest, person_id: UUID) -> HttpResponse:
    """Sign-in opens again."""
    provisioning.activate(get_object_or_404(User, pk=person_id), actor=request.user)
    return redirect("accounts:people")


@administrators_only
@require_http_methods(["GET", "POST"])
def groups(request: PageRequest) -> HttpResponse:
    """All groups, and a field for a new one."""
    form = GroupForm(request.POST or None)
    if form.is_valid():
        group = provisioning.add_group(form.cleaned_data["name"], actor=request.user)
        return redirect("accounts:group", group_id=group.pk)
    every = Group.objects.annotate(size=Count("people"))
    context = {"groups": every, "form": form}
    return render(request, "accounts/groups.html", context, status=422 if form.errors else 200)


@administrators_only
@require_http_methods(["GET", "POST"])
def group(request: PageRequest, group_id: UUID) -> HttpResponse:
    """Who is in this group."""
    found = get_object_or_404(Group, pk=group_id)
    initial = {"people": found.people.all()}
    form = GroupPeopleForm(request.POST if request.method == "POST" else None, initial=initial)
    if form.is_valid():
        provisioning.set_group_people(found, form.cleaned_data["people"], actor=request.user)
        return redirect("accounts:groups")
    context = {"group": found, "form": form}
    return render(request, "accounts/group.html", context, status=422 if form.errors else 200)


@administrators_only
@require_POST
def group_rule(request: PageRequest, group_id: UUID) -> HttpResponse:
    """Whether the group's people have temporary chats only."""
    found = get_object_or_404(Group, pk=group_id)
    temporary_only = request.POST.get("temporary_only") == "yes"
    provisioning.set_temporary_only(found, temporary_only, actor=request.user)
    return redirect("accounts:group", group_id=found.pk)


@administrators_only
@require_POST
def delete_group(request: PageRequest, group_id: UUID) -> HttpResponse:
    """The group goes, its people stay."""
    provisioning.delete_group(get_object_or_404(Group, pk=group_id), actor=request.user)
    return redirect("accounts:groups")
