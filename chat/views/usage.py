"""Usage and cost, for who manages models: days, models and groups, never persons."""

from __future__ import annotations

import csv
from datetime import date, timedelta
from typing import Any

from django.conf import settings
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.formats import date_format
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST, require_safe

from accounts.requests import PageRequest
from chat.domain import costs, usage
from chat.domain.usage import Usage
from chat.model_forms import CostsForm, DaysForm
from chat.views.language_models import managers_only


@managers_only
@require_safe
def page(request: PageRequest) -> HttpResponse:
    """Numbers first, then the plot, then the tables behind it."""
    form = _days(request)
    return _shown(request, form, CostsForm(initial=vars(costs.now())))


@managers_only
@require_safe
def table(request: PageRequest) -> HttpResponse:
    """The same days as CSV."""
    form = _days(request)
    if not form.is_valid():
        return _shown(request, form, CostsForm(initial=vars(costs.now())))
    found = _found(form)
    response = HttpResponse(content_type="text/csv; charset=utf-8")
    name = f"konak-{found.first:%Y%m%d}-{found.last:%Y%m%d}.csv"
    response["Content-Disposition"] = f'attachment; filename="{name}"'
    response.write("\ufeff")  # so that spreadsheets take it for UTF-8
    writer = csv.writer(response)
    writer.writerow(["kind", "name", "answers", "read_tokens", "written_tokens"])
    kinds = {"day": found.days, "model": found.models, "group": found.groups}
    for kind, rows in kinds.items():
        for row in rows:
            cells = (row.answers, row.read_tokens, row.written_tokens)
            writer.writerow([kind, _as_text(row.label), *cells])
    return response


@managers_only
@require_POST
def set_costs(request: PageRequest) -> HttpResponse:
    """Other prices for the comparison."""
    form = CostsForm(request.POST)
    if form.is_valid():
        costs.change(actor=request.user, **form.cleaned_data)
        return redirect("chat:usage")
    return _shown(request, _days(request), form)


def _days(request: PageRequest) -> DaysForm:
    """Of the address, else the last 30 days."""
    last = timezone.localdate()
    usual = {"first": last - timedelta(days=29), "last": last}
    named = {name: request.GET[name] for name in usual if name in request.GET}
    return DaysForm({**usual, **named})


def _found(form: DaysForm) -> Usage:
    first, last = form.cleaned_data["first"], form.cleaned_data["last"]
    return usage.between(first, last, zone=settings.TIME_ZONE)


def _shown(request: PageRequest, form: DaysForm, costs_form: CostsForm) -> HttpResponse:
    context: dict[str, Any] = {"form": form, "costs_form": costs_form, "least": usage.LEAST_PEOPLE}
    if form.is_valid():
        found, prices = _found(form), costs.now()
        even = costs.break_even(prices, found)
        context |= {
            "usage": found, "costs": prices, "elsewhere": costs.elsewhere(prices, found.whole),
            "even": even, "curves": even.curves() if even else [],
            "even_names": [_("The same tokens elsewhere"), _("Your own machine")],
            "even_title": _("What was paid in all, month by month"),
            "written": _every_day(found),
        }  # fmt: skip
    wrong = bool(form.errors or costs_form.errors)
    return render(request, "chat/usage.html", context, status=422 if wrong else 200)


def _every_day(found: Usage) -> tuple[list[int], list[str]]:
    """Written tokens of each day, also of those without any, and what to say of them."""
    told = {row.label: row.written_tokens for row in found.days}
    days = [found.first + timedelta(days=n) for n in range((found.last - found.first).days + 1)]
    counts = [told.get(day, 0) for day in days]
    return counts, [f"{_day(day)}: {count}" for day, count in zip(days, counts, strict=True)]


def _day(day: date) -> str:
    return date_format(day, "SHORT_DATE_FORMAT")


def _as_text(label: object) -> str:
    """A name that a spreadsheet would take for a formula stays a name."""
    text = label.isoformat() if isinstance(label, date) else str(label)
    return f"'{text}" if text[:1] in "=+-@\t\r" else text
