import uuid

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


def keep_what_runs(apps, schema_editor):
    """What each model is now becomes its first version, taken as it is."""
    LanguageModel = apps.get_model("chat", "LanguageModel")
    ModelVersion = apps.get_model("chat", "ModelVersion")
    for model in LanguageModel.objects.exclude(sha256=""):
        model.runs = ModelVersion.objects.create(
            language_model=model,
            name=model.name,
            sha256=model.sha256,
            quantization=model.quantization,
            size_bytes=model.size_bytes,
            context_length=model.context_length,
            is_there=model.available,
            first_seen_at=model.created_at,
            approved_at=model.created_at,
        )
        model.save(update_fields=["runs"])


class Migration(migrations.Migration):

    dependencies = [
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
        ('chat', '0014_pools'),
    ]

    operations = [
        migrations.CreateModel(
            name='ModelVersion',
            fields=[
                ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ('name', models.CharField(max_length=200)),
                ('sha256', models.CharField(blank=True, max_length=64)),
                ('quantization', models.CharField(blank=True, max_length=24)),
                ('size_bytes', models.PositiveBigIntegerField(null=True)),
                ('context_length', models.PositiveIntegerField(null=True)),
                ('is_there', models.BooleanField(default=True)),
                ('first_seen_at', models.DateTimeField()),
                ('approved_at', models.DateTimeField(null=True)),
                ('approved_by', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('language_model', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='versions', to='chat.languagemodel')),
            ],
            options={
                'ordering': ['-first_seen_at', 'name'],
                'constraints': [models.UniqueConstraint(fields=('language_model', 'name', 'sha256'), name='one_version_a_file')],
            },
        ),
        migrations.AlterField(
            model_name='languagemodel',
            name='description',
            field=models.CharField(blank=True, db_default='', default='', max_length=300),
        ),
        migrations.AddField(
            model_name='languagemodel',
            name='description_tr',
            field=models.CharField(blank=True, db_default='', default='', max_length=300),
        ),
        migrations.AddField(
            model_name='languagemodel',
            name='runs',
            field=models.ForeignKey(db_index=False, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to='chat.modelversion'),
        ),
        migrations.AddField(
            model_name='languagemodel',
            name='runs_name',
            field=models.CharField(blank=True, db_default='', default='', max_length=200),
        ),
        migrations.AddField(
            model_name='languagemodel',
            name='held',
            field=models.BooleanField(db_default=False, default=False),
        ),
        migrations.AddField(
            model_name='languagemodel',
            name='needs_approval',
            field=models.BooleanField(db_default=True, default=True),
        ),
        migrations.AddField(
            model_name='generation',
            name='version',
            field=models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='generations', to='chat.modelversion'),
        ),
        migrations.RunPython(keep_what_runs, migrations.RunPython.noop),
    ]
