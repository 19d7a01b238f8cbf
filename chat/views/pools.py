"""Which engines serve a model together, for who manages models."""

from __future__ import annotations

from uuid import UUID

from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_http_methods

from accounts.requests import PageRequest
from chat.domain import pools
from chat.models import LanguageModel
from chat.pool_forms import PoolForm
from chat.views.language_models import managers_only


@managers_only
@require_http_methods(["GET", "POST"])
def pool(request: PageRequest, model_id: UUID) -> HttpResponse:
    """Who else serves for this model."""
    rows = LanguageModel.objects.select_related("engine", "serves_for")
    row = get_object_or_404(rows, pk=model_id)
    form = PoolForm(request.POST if request.method == "POST" else None, row=row)
    if form.is_valid():
        try:
            pools.share(row, form.cleaned_data["others"], actor=request.user)
            return redirect("chat:model", model_id=row.pk)
        except pools.Impossible as reason:
            form.add_error("others", str(reason))
    context = {"form": form, "model": row}
    return render(request, "chat/catalogue_pool.html", context, status=422 if form.errors else 200)
