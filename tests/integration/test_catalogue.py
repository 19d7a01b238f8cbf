"""From a model's file to the page: what can be talked to stands there, what makes vectors not."""

from __future__ import annotations

import asyncio
from pathlib import Path
from uuid import uuid4

import pytest
from django.urls import reverse

from chat.domain import catalogue, connections
from chat.models import Conversation, LanguageModel
from engine_adapter.types import ModelCard
from tests.integration.engine_hosts import Host, running_host
from tests.people import People, browser

pytestmark = pytest.mark.django_db


def written_down(host: Host) -> dict[str, str]:
    """Keep the catalogue as the host tells it, as the runner does. Each model's kind by name."""

    async def told() -> list[ModelCard]:
        engine = await host.engine()
        try:
            return list(await engine.models())
        finally:
            await engine.aclose()

    cards = asyncio.run(told())
    catalogue.refresh(connections.bundled(), cards)
    return {card.name: card.kind for card in cards}


def test_models_that_make_vectors_are_nobodys_to_talk_to(
    people: People, starter_model: Path, tmp_path: Path
) -> None:
    models = tmp_path / "models"
    models.mkdir()
    for name in ("talks", "tells", "vectors"):
        (models / f"{name}.gguf").symlink_to(starter_model)
    (models / "vectors.toml").write_text('kind = "embeddings"')
    alice = browser(people.alice)
    with running_host(tmp_path, "--models", models, "--slots", "1", "--context", "256") as host:
        kinds = {"talks": "text", "tells": "text", "vectors": "embeddings"}
        assert written_down(host) == kinds
        page = alice.get(reverse("chat:new")).content.decode()
        assert ">talks</b>" in page and ">tells</b>" in page
        assert "vectors" not in page
        tells = LanguageModel.objects.get(name="tells")
        # One that was written down already leaves the page when it turns out to be of that kind.
        (models / "tells.toml").write_text('kind = "embeddings"')
        assert written_down(host)["tells"] == "embeddings"
    page = alice.get(reverse("chat:new")).content.decode()
    assert "talks" in page and "tells" not in page
    assert catalogue.default_for(people.alice).name == "talks"
    form = {"text": "Hello", "message_id": uuid4(), "language_model": tells.pk}
    reply = alice.post(reverse("chat:start"), form)
    assert "This model is not available any more." in reply.content.decode()
    assert not Conversation.objects.exists()
