"""The rows of models on their way into an engine."""

from __future__ import annotations

import uuid
from typing import Final

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.db.models.functions import Lower
from django.utils.translation import gettext_lazy as _

from chat.models.catalogue import EngineConnection


class ModelArrival(models.Model):
    """A model on its way in: from where, how far it is, and what came of it.

    ``origin`` is an address, or a name at the engine that fetches it. ``mark`` and ``total_bytes``
    say which file was begun. ``trouble`` is a word of ``chat.domain.arrival_words``, with
    ``facts``; of a file that was looked into these are ``engine_adapter.arriving.Inspected``.
    ``seen_at`` is a sign of life of who is at work on it.
    """

    class Source(models.TextChoices):
        """Where from."""

        HOST = "host", _("From the folder")
        UPLOAD = "upload", _("Uploaded")
        ADDRESS = "address", _("From an address")
        HUB = "hub", _("From a model hub")
        ENGINE = "engine", _("Fetched by the engine")

    class State(models.TextChoices):
        """How it stands. ``READY`` is checked and not yet taken into service."""

        WAITING = "waiting", _("Waiting for its turn")
        RUNNING = "running", _("Coming in")
        PAUSED = "paused", _("Paused")
        CHECKING = "checking", _("Being checked")
        READY = "ready", _("Checked")
        DONE = "done", _("In service")
        REFUSED = "refused", _("Refused")
        CANCELLED = "cancelled", _("Cancelled")

    FETCHED: Final = ("address", "hub", "engine")

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    engine = models.ForeignKey(EngineConnection, on_delete=models.CASCADE, related_name="arrivals")
    source = models.CharField(max_length=8, choices=Source)
    origin = models.CharField(max_length=2000, blank=True)
    file_name = models.CharField(max_length=200, blank=True)
    state = models.CharField(max_length=9, choices=State)
    total_bytes = models.PositiveBigIntegerField(null=True)
    received_bytes = models.PositiveBigIntegerField(default=0)
    mark = models.CharField(max_length=200, blank=True)
    expected_sha256 = models.CharField(max_length=64, blank=True)
    sha256 = models.CharField(max_length=64, blank=True)
    trouble = models.CharField(max_length=24, blank=True)
    facts = models.JSONField(default=dict)
    begun_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, related_name="+"
    )
    created_at = models.DateTimeField(auto_now_add=True)
    seen_at = models.DateTimeField(null=True)
    ended_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ["-created_at"]
        constraints = [
            models.UniqueConstraint(
                Lower("file_name"),
                condition=~Q(file_name="") & Q(ended_at=None),
                name="one_arrival_a_file_name",
            ),
            models.UniqueConstraint(
                fields=["engine", "origin"],
                condition=Q(source="engine", ended_at=None),
                name="one_arrival_a_name_at_an_engine",
            ),
        ]

    def __str__(self) -> str:
        return self.file_name or self.origin

    @property
    def is_open(self) -> bool:
        """Whether something is still to come of it."""
        return self.ended_at is None
