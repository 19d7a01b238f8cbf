"""How the engines and models of the page are doing: pieces of it that change, by their ids."""

from __future__ import annotations

from collections.abc import Mapping
from uuid import UUID

from asgiref.sync import async_to_sync
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, render
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString, mark_safe
from django.views.decorators.http import require_safe

from accounts.requests import PageRequest
from chat import engines
from chat.domain import diagnosis
from chat.engines import State
from chat.models import LanguageModel
from chat.views.language_models import managers_only
from chat.views.model_list import Query, Shown, shown
from engine_adapter.types import ModelCard

States = Mapping[UUID, State]


@managers_only
@require_safe
def now(request: PageRequest) -> HttpResponse:
    """For a page whose socket does not come through: it asks for this again and again."""
    page = shown(Query.of(request.GET))
    if request.GET.get("shape", page.shape) != page.shape:
        return HttpResponse(relisted(page))
    rows = [section.engine for section in page.sections]
    states = async_to_sync(engines.states)(rows)
    told = pieces(page, dict(zip((row.pk for row in rows), states, strict=True)))
    asks = asking(page, "every 5s, htmx:wsClose from:body") if request.GET.get("asleep") else ""
    return HttpResponse(framed(told) + asks)


@managers_only
@require_safe
def of_one(request: PageRequest, model_id: UUID) -> HttpResponse:
    """The same for a model's own page."""
    row = get_object_or_404(LanguageModel.objects.select_related("engine"), pk=model_id)
    [state] = async_to_sync(engines.states)([row.engine])
    html = cell(row, state)
    return render(request, "chat/_model_state.html", {"trouble": trouble(state), "cell": html})


def pieces(page: Shown, states: States) -> dict[str, str]:
    """What stands under each id of the page. An engine that has just come has nothing yet."""
    found: dict[str, str] = {}
    there = {model.pk for section in page.sections for model in section.models}
    for section in page.sections:
        if (state := states.get(section.engine.pk)) is None:
            continue
        context = {"engine": section.engine, "state": state, "trouble": trouble(state)}
        found[f"e-{section.engine.pk}"] = render_to_string("chat/_catalogue_now.html", context)
        for model in section.models:
            found[f"s-{model.pk}"] = cell(model, state)
            if model.serves_for_id in there:  # it stands there once more, under the one it serves
                told = {**context, "model": model, "card": card_of(model, state)}
                html = render_to_string("chat/_catalogue_other_now.html", told)
                found[f"o-{model.pk}"] = html
    return found


def cell(model: LanguageModel, state: State) -> str:
    """How one model stands: nothing of one that its engine does not name."""
    card = card_of(model, state)
    if card is None or card.state is None:
        return ""
    context = {"model": model, "card": card, "state": state}
    return render_to_string("chat/_memory.html", context)


def card_of(model: LanguageModel, state: State) -> ModelCard | None:
    """What its engine tells of it now."""
    return state.cards.get(model.runs_name or model.name)


def trouble(state: State) -> str:
    """What is wrong with an engine, in a sentence."""
    return "" if state.error is None else diagnosis.of(state.error)


def framed(told: Mapping[str, str]) -> SafeString:
    """As htmx puts it into its places."""
    parts = (
        format_html('<div id="{}" hx-swap-oob="innerHTML">{}</div>', id_, mark_safe(html))  # noqa: S308 - rendered by our templates
        for id_, html in told.items()
    )
    return mark_safe("".join(parts))  # noqa: S308 - likewise


def asking(page: Shown, trigger: str, *, asleep: bool = False) -> SafeString:
    """What asks for the pieces by itself. It is ``asleep`` while the socket tells them."""
    context = {"page": page, "trigger": trigger, "asleep": asleep, "oob": True}
    return mark_safe(render_to_string("chat/_models_asking.html", context))  # noqa: S308 - ours


def relisted(page: Shown) -> SafeString:
    """Has the page fetch its list: engines or models came, went or were changed."""
    address = f"{reverse('chat:models')}?{page.query}"
    return format_html(
        '<div id="relist" hx-swap-oob="true" hx-get="{}" hx-trigger="load" hx-target="#engines"'
        ' hx-select="#engines" hx-swap="outerHTML"></div>',
        address,
    )
