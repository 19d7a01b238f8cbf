"""Letters of the house. Sent only where a mail server is set up."""

from __future__ import annotations

import logging
import smtplib

from django.conf import settings
from django.core.mail import send_mail
from django.template.loader import render_to_string
from django.utils import translation
from django.utils.translation import gettext as _

from accounts.models import User

log = logging.getLogger(__name__)


def send_setup_link(user: User, url: str) -> bool | None:
    """Send the one-time link. ``None`` without a mail server, ``False`` when it did not take it."""
    if not settings.EMAIL_HOST:
        return None
    with translation.override(user.language or translation.get_language()):
        context = {"person": user, "url": url, "hours": settings.SETUP_LINK_HOURS}
        body = render_to_string("accounts/mail/setup_link.txt", context)
        try:
            send_mail(_("Your account in Konak"), body, None, [user.email])
        except (OSError, smtplib.SMTPException) as error:
            log.warning("setup link not sent: %s", type(error).__name__)
            return False
    return True
