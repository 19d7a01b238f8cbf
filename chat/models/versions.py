"""The rows of models' versions. A version is a file: a name at the engine, and its SHA-256."""

from __future__ import annotations

import uuid

from django.conf import settings
from django.db import models

from chat.models.catalogue import LanguageModel


class ModelVersion(models.Model):
    """A file that was seen under a name which ``language_model`` runs or can be made to run.

    ``sha256`` is empty where the engine tells none. ``is_there``: the engine has this file now.
    Approved with nobody in ``approved_by``: it was taken as it was first seen, or the model's
    changes need no approval.
    """

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    language_model = models.ForeignKey(
        LanguageModel, on_delete=models.CASCADE, related_name="versions"
    )
    name = models.CharField(max_length=200)
    sha256 = models.CharField(max_length=64, blank=True)
    quantization = models.CharField(max_length=24, blank=True)
    size_bytes = models.PositiveBigIntegerField(null=True)
    context_length = models.PositiveIntegerField(null=True)
    is_there = models.BooleanField(default=True)
    first_seen_at = models.DateTimeField()
    approved_at = models.DateTimeField(null=True)
    approved_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, related_name="+"
    )

    class Meta:
        ordering = ["-first_seen_at", "name"]
        constraints = [
            models.UniqueConstraint(
                fields=["language_model", "name", "sha256"], name="one_version_a_file"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.name} {self.sha256[:12]}"
