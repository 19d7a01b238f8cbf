"""Deployment checks: what Django's own cannot know about this appliance."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.core.checks import CheckMessage, Tags, Warning, register


@register(Tags.security, deploy=True)
def served_encrypted(app_configs: Any, **kwargs: Any) -> list[CheckMessage]:
    """Outside this machine people must reach the house through TLS."""
    loopback = {"127.0.0.1", "localhost", "[::1]", "::1"}
    if settings.HTTPS or settings.ALLOWED_HOSTS[0] in loopback:
        return []
    return [
        Warning(
            "People reach Konak without encryption.",
            hint="Put TLS in front and set KONAK_PUBLIC_URL to the https:// address.",
            id="konak.W001",
        )
    ]
