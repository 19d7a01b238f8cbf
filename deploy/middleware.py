"""What every page of the house carries in its head."""

from __future__ import annotations

from collections.abc import Callable

from django.http import HttpRequest, HttpResponse


class PrivatePages:
    """Pages are nobody else's: no cache keeps them, and they ask for no device."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        """Add the headers."""
        response = self._get_response(request)
        response.headers.setdefault("Cache-Control", "no-store")
        response.headers["Permissions-Policy"] = "camera=(), microphone=(), geolocation=()"
        return response
