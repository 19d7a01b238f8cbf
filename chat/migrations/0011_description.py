from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("chat", "0010_catalogue")]

    operations = [
        migrations.AddField(
            model_name="languagemodel",
            name="description",
            field=models.CharField(blank=True, db_default="", max_length=300),
        ),
    ]
