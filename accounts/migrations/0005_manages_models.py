from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ("accounts", "0004_temporary_only"),
    ]

    operations = [
        migrations.AddField(
            model_name="user",
            name="manages_models",
            field=models.BooleanField(db_default=False, default=False),
        ),
        # Until now whoever managed people managed everything there was.
        migrations.RunSQL(
            "UPDATE accounts_user SET manages_models = true WHERE is_administrator",
            migrations.RunSQL.noop,
        ),
    ]
