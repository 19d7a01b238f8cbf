"""What is pinned, what a model's file says of itself, and how full engines were for a day."""

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("chat", "0016_versions")]

    operations = [
        migrations.AddField(
            "languagemodel",
            "parent",
            models.CharField(blank=True, db_default="", max_length=200),
        ),
        migrations.AddField(
            "languagemodel",
            "facts",
            models.JSONField(db_default=models.Value({}, models.JSONField()), default=dict),
        ),
        migrations.AddField("languagemodel", "pinned", models.BooleanField(null=True)),
        migrations.CreateModel(
            name="GaugeMinute",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("at", models.DateTimeField()),
                ("looks", models.PositiveSmallIntegerField(default=1)),
                ("running", models.PositiveIntegerField(null=True)),
                ("waiting", models.PositiveIntegerField(null=True)),
                ("kv_use", models.FloatField(null=True)),
                ("slots", models.PositiveIntegerField(null=True)),
                ("asked_tokens", models.PositiveBigIntegerField(null=True)),
                ("found_tokens", models.PositiveBigIntegerField(null=True)),
                (
                    "language_model",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="gauge_minutes",
                        to="chat.languagemodel",
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(
                        fields=("language_model", "at"), name="one_gauge_row_a_minute"
                    )
                ],
            },
        ),
    ]
