"""What a model is called by who reads Turkish."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("chat", "0015_arrivals")]

    operations = [
        migrations.AddField(
            "languagemodel",
            "display_name_tr",
            models.CharField(blank=True, db_default="", default="", max_length=200),
        ),
    ]
