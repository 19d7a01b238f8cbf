"""The language and the look of pages, kept by the browser so that the door knows them as well."""

from __future__ import annotations

from django.conf import settings
from django.http import HttpResponse

THEME_COOKIE = "theme"
# The list of conversations folded away; keys that work without Alt.
SWITCHES = ("sidebar", "letters")
_YEAR_S = 365 * 24 * 3600


def remember(response: HttpResponse, *, language: str = "", theme: str | None = None) -> None:
    """Keep them in cookies. No language leaves the browser's; an empty theme is the system's."""
    if language:
        _set(response, settings.LANGUAGE_COOKIE_NAME, language)
    if theme is not None:
        _set(response, THEME_COOKIE, theme)


def switch(response: HttpResponse, name: str, *, on: bool) -> None:
    """Keep one of ``SWITCHES`` in a cookie of its name, as ``on`` or ``off``."""
    _set(response, name, "on" if on else "off")


def _set(response: HttpResponse, name: str, value: str) -> None:
    response.set_cookie(
        name, value, max_age=_YEAR_S, httponly=True, samesite="Lax", secure=settings.HTTPS
    )
