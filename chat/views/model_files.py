"""The files of the bundled engine, for who manages models: seen, and removed."""

from __future__ import annotations

from pathlib import Path

from asgiref.sync import async_to_sync
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods

from accounts.requests import PageRequest
from chat import engines
from chat.domain import arrival_words, arrivals, catalogue, connections, model_files
from chat.domain.model_files import Refusal
from chat.models import EngineConnection
from chat.views.language_models import managers_only
from engine_adapter.errors import EngineError
from engine_adapter.types import ModelCard


@managers_only
@require_http_methods(["GET", "POST"])
def files(request: PageRequest) -> HttpResponse:
    """Every file with its size; ``remove`` asks once more before one goes."""
    problem = ""
    if request.method == "POST":
        try:
            _remove(request)
        except Refusal as refusal:
            problem = arrival_words.sentence(refusal.code, refusal.facts)
        else:
            return redirect("chat:model_files")
    served = model_files.served() if model_files.are_here() else []
    wanted = request.GET.get("remove")
    context = {
        "here": model_files.are_here(),
        "files": served,
        "asked": next((file for file in served if file.name == wanted), None),
        "problem": problem,
    }
    return render(request, "chat/catalogue_files.html", context, status=409 if problem else 200)


def show_at_once(engine: EngineConnection) -> None:
    """Who has just added or removed a model looks for it on the next page."""
    try:
        catalogue.refresh(engine, async_to_sync(engines.cards)(engine))
    except EngineError:
        return


def _remove(request: PageRequest) -> None:
    """Never what is in memory, under another model, or what new chats begin with. Raises
    ``Refusal``."""
    name, engine = request.POST.get("file", ""), connections.bundled()
    try:
        cards = async_to_sync(engines.cards)(engine)
    except EngineError:
        raise Refusal("not_said") from None
    own = Path(name).stem.lower()
    card = next((card for card in cards if card.name == own), None)
    if card is not None and card.state in {"loaded", "loading"}:
        raise Refusal("in_use", name=name)
    if any(other.parent == own for other in cards):
        raise Refusal("is_base", name=name)
    if arrivals.begins_chats(engine, own):
        raise Refusal("is_default", name=name)
    arrivals.remove_file(name, sha256=_sha256(card), actor=request.user)
    show_at_once(engine)


def _sha256(card: ModelCard | None) -> str:
    return (card.sha256 or "") if card else ""
