"""What engines told about how full they are, minute by minute, for a day."""

from __future__ import annotations

from django.db import models

from chat.models.catalogue import LanguageModel


class GaugeMinute(models.Model):
    """One model's minute. ``running``, ``waiting`` and ``kv_use`` are sums over as many ``looks``;
    the tokens are counters since the engine began, as the last look saw them. What an engine does
    not tell is null."""

    language_model = models.ForeignKey(
        LanguageModel, on_delete=models.CASCADE, related_name="gauge_minutes", db_index=False
    )
    at = models.DateTimeField()
    looks = models.PositiveSmallIntegerField(default=1)
    running = models.PositiveIntegerField(null=True)
    waiting = models.PositiveIntegerField(null=True)
    kv_use = models.FloatField(null=True)
    slots = models.PositiveIntegerField(null=True)
    asked_tokens = models.PositiveBigIntegerField(null=True)
    found_tokens = models.PositiveBigIntegerField(null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["language_model", "at"], name="one_gauge_row_a_minute"),
        ]

    def __str__(self) -> str:
        return f"{self.language_model_id} {self.at:%H:%M}"
