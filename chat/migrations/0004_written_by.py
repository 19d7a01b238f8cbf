from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('chat', '0003_search'),
    ]

    operations = [
        migrations.AddField(
            model_name='message',
            name='written_by',
            field=models.CharField(blank=True, db_default='', max_length=200),
        ),
    ]
