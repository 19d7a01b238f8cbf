"""What a browser needs to put Konak among a person's applications. Nothing private in it."""

from __future__ import annotations

from typing import Final

from django.contrib.auth.decorators import login_not_required
from django.http import HttpRequest, JsonResponse
from django.templatetags.static import static
from django.urls import reverse
from django.utils.translation import get_language
from django.utils.translation import gettext as _
from django.views.decorators.cache import cache_control
from django.views.decorators.http import require_safe

# The page's colours in the light look, as in tokens.css; a manifest cannot hold two.
_PAGE: Final = "#fbfaf8"
_ICONS: Final = (
    ("icon.svg", "any", "image/svg+xml", "any"),
    ("icon-192.png", "192x192", "image/png", "any"),
    ("icon-512.png", "512x512", "image/png", "any"),
    ("icon-maskable-512.png", "512x512", "image/png", "maskable"),
)


@login_not_required
@require_safe
@cache_control(private=True, max_age=3600)
def manifest(request: HttpRequest) -> JsonResponse:
    """The web application manifest, in the reader's language."""
    icons = [
        {"src": static(name), "sizes": sizes, "type": kind, "purpose": purpose}
        for name, sizes, kind, purpose in _ICONS
    ]
    told = {
        "id": "/",
        "name": "Konak",
        "short_name": "Konak",
        "description": _("Ask, read and find again, on the machines of your organisation."),
        "lang": get_language(),
        "start_url": reverse("chat:new"),
        "scope": "/",
        "display": "standalone",
        "background_color": _PAGE,
        "theme_color": _PAGE,
        "icons": icons,
    }
    return JsonResponse(told, content_type="application/manifest+json")
