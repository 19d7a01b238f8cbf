import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('chat', '0013_capacity'),
    ]

    operations = [
        migrations.AddField(
            model_name='languagemodel',
            name='given_length',
            field=models.PositiveIntegerField(null=True),
        ),
        migrations.AddField(
            model_name='languagemodel',
            name='serves_for',
            field=models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='others', to='chat.languagemodel'),
        ),
        migrations.AddField(
            model_name='languagemodel',
            name='is_pool',
            field=models.BooleanField(db_default=False, default=False),
        ),
        migrations.AddField(
            model_name='languagemodel',
            name='others_length',
            field=models.PositiveIntegerField(null=True),
        ),
        migrations.AddConstraint(
            model_name='languagemodel',
            constraint=models.CheckConstraint(condition=models.Q(('serves_for', None), models.Q(('is_pool', False), models.Q(('serves_for', models.F('id')), _negated=True)), _connector='OR'), name='who_serves_for_another_has_no_others'),
        ),
        migrations.AddField(
            model_name='generation',
            name='served_by',
            field=models.ForeignKey(db_index=False, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='chat.languagemodel'),
        ),
    ]
