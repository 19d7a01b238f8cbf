from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ("accounts", "0003_own_pages"),
    ]

    operations = [
        migrations.AddField(
            model_name="group",
            name="temporary_only",
            field=models.BooleanField(db_default=False, default=False),
        ),
    ]
