import uuid

import django.db.models.deletion
import django.db.models.functions.text
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
        ('chat', '0017_pins_and_gauges'),
    ]

    operations = [
        migrations.CreateModel(
            name='ModelArrival',
            fields=[
                ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ('source', models.CharField(choices=[('host', 'From the folder'), ('upload', 'Uploaded'), ('address', 'From an address'), ('hub', 'From a model hub'), ('engine', 'Fetched by the engine')], max_length=8)),
                ('origin', models.CharField(blank=True, max_length=2000)),
                ('file_name', models.CharField(blank=True, max_length=200)),
                ('state', models.CharField(choices=[('waiting', 'Waiting for its turn'), ('running', 'Coming in'), ('paused', 'Paused'), ('checking', 'Being checked'), ('ready', 'Checked'), ('done', 'In service'), ('refused', 'Refused'), ('cancelled', 'Cancelled')], max_length=9)),
                ('total_bytes', models.PositiveBigIntegerField(null=True)),
                ('received_bytes', models.PositiveBigIntegerField(default=0)),
                ('mark', models.CharField(blank=True, max_length=200)),
                ('expected_sha256', models.CharField(blank=True, max_length=64)),
                ('sha256', models.CharField(blank=True, max_length=64)),
                ('trouble', models.CharField(blank=True, max_length=24)),
                ('facts', models.JSONField(default=dict)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('seen_at', models.DateTimeField(null=True)),
                ('ended_at', models.DateTimeField(null=True)),
                ('begun_by', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('engine', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='arrivals', to='chat.engineconnection')),
            ],
            options={
                'ordering': ['-created_at'],
                'constraints': [models.UniqueConstraint(django.db.models.functions.text.Lower('file_name'), condition=models.Q(models.Q(('file_name', ''), _negated=True), ('ended_at', None)), name='one_arrival_a_file_name'), models.UniqueConstraint(condition=models.Q(('ended_at', None), ('source', 'engine')), fields=('engine', 'origin'), name='one_arrival_a_name_at_an_engine')],
            },
        ),
    ]
