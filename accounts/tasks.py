"""Housekeeping of accounts."""

from datetime import timedelta

from celery import shared_task
from django.utils import timezone

from accounts.models import Session, SetupLink


@shared_task
def clear_expired() -> None:
    """Forget ended sessions and links.

    A day later only: until then an expired session still tells whose unsent text it was.
    """
    yesterday = timezone.now() - timedelta(days=1)
    Session.objects.filter(expire_date__lt=yesterday).delete()
    SetupLink.objects.filter(expires_at__lt=yesterday).delete()
