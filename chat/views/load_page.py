"""How busy each model was in the last hour: as plots with what they mean, or as tables."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from django.http import HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.utils.formats import number_format
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_safe

from accounts.requests import PageRequest
from chat.domain import gauges, load
from chat.domain.sizes import percent
from chat.models import LanguageModel
from chat.views.language_models import managers_only

STEP = 5  # minutes of a row where they are told as a table
Values = list[float | None]


@dataclass(frozen=True, slots=True)
class Plot:
    """One thing over the hour: its ``values`` by minute up to ``top``, and what it means."""

    name: str
    meaning: str
    values: Values
    labels: list[str]
    top: float
    top_label: str
    say: Callable[[float], str]

    @property
    def ends(self) -> tuple[str, str]:
        """The first and the last minute."""
        return self.labels[0][:5], self.labels[-1][:5]

    @property
    def rows(self) -> list[str]:
        """A mean of each few minutes, in words."""
        found = []
        for at in range(0, len(self.values), STEP):
            known = [value for value in self.values[at : at + STEP] if value is not None]
            found.append(self.say(sum(known) / len(known)) if known else "–")
        return found


@managers_only
@require_safe
def page(request: PageRequest) -> HttpResponse:
    """How busy each model was in the last hour."""
    found = load.of_the_last_hour()
    rows = LanguageModel.objects.filter(pk__in=found)
    as_table = request.GET.get("as") == "table"
    loads = [(row, found[row.pk], _plots(found[row.pk])) for row in rows]
    context = {
        "loads": [(row, one, plots, _rows(plots) if as_table else []) for row, one, plots in loads],
        "as_table": as_table,
    }
    return render(request, "chat/load.html", context)


def _rows(plots: list[Plot]) -> list[tuple[str, list[str]]]:
    """Time → a cell for each plot."""
    times = [label[:5] for label in plots[0].labels[::STEP]]
    cells = zip(*(plot.rows for plot in plots), strict=True)
    return [(time, list(row)) for time, row in zip(times, cells, strict=True)]


def _plots(one: load.Load) -> list[Plot]:
    """What is known of it. What an engine does not tell has no plot."""
    minutes = one.minutes
    told: list[gauges.Minute | None] = [one.told.get(minute.at) for minute in minutes]
    running: Values = [
        max(minute.running, (said.running if said else 0) or 0)
        for minute, said in zip(minutes, told, strict=True)
    ]
    plots = [
        _together(one, running),
        _plot(
            one,
            _("Tokens a second"),
            _(
                "Written by all answers together. It should rise and fall with the answers at once;"
                " where these grow and this does not, the machine is at its limit."
            ),
            [minute.tokens_per_s for minute in minutes],
            number,
        ),
        _plot(
            one,
            _("Waiting in line"),
            _(
                "Requests for which the engine had no slot free. Now and then this is fine. For"
                " minutes on end it means that people wait: more slots, or another machine."
            ),
            [said.waiting if said else None for said in told],
            number,
        ),
        *_shares(one, told),
    ]
    return [plot for plot in plots if any(value is not None for value in plot.values)]


def _shares(one: load.Load, told: list[gauges.Minute | None]) -> list[Plot]:
    """What is a share of a whole."""
    return [
        _plot(
            one,
            _("Memory for conversations"),
            _(
                "How much of it the answers took. Near 100% some are set aside and go on later: a"
                " shorter context, fewer slots, or more memory helps."
            ),
            [said.kv_use if said else None for said in told],
            percent,
            top=1.0,
        ),
        _plot(
            one,
            _("Read before, not computed again"),
            _(
                "The share of what was to be read that the engine knew already, from the turns"
                " before. The higher, the sooner the first word comes. Low is no fault while most"
                " people begin new chats."
            ),
            [said.hits if said else None for said in told],
            percent,
            top=1.0,
        ),
    ]


def _together(one: load.Load, running: Values) -> Plot:
    meaning = _(
        "How full the batch is. One answer more costs the others little, so a full machine is a"
        " well used one. When it stays full and people wait, it needs more slots or help."
    )
    slots = one.slots
    most = max((value for value in running if value is not None), default=0)
    if slots is None or most > slots:
        return _plot(one, _("Answers written at once"), meaning, running, number)
    label = ngettext("%(n)s slot", "%(n)s slots", slots) % {"n": slots}
    return _plot(
        one, _("Answers written at once"), meaning, running, number, top=slots, top_label=label
    )


def _plot(
    one: load.Load, name: str, meaning: str, values: Values, say: Callable[[float], str],
    *, top: float | None = None, top_label: str = "",
) -> Plot:  # fmt: skip
    most = top or max((value for value in values if value is not None), default=0) or 1
    times = [f"{timezone.localtime(minute.at):%H:%M}" for minute in one.minutes]
    labels = [
        f"{time}: {say(value) if value is not None else '–'}"
        for time, value in zip(times, values, strict=True)
    ]
    return Plot(name, meaning, values, labels, float(most), top_label or say(most), say)


def number(value: float) -> str:
    """``3.5``; whole ones without a place behind the point."""
    places = 0 if value >= 100 or value == int(value) else 1
    return number_format(round(value, places), places)
