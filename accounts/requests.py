"""What a view behind ``SignInRequired`` is given, for the type checker and the reader."""

from __future__ import annotations

from django.http import HttpRequest
from django_htmx.middleware import HtmxDetails

from accounts.models import User
from accounts.sessions import SessionStore


class PageRequest(HttpRequest):
    """A request of a signed-in person."""

    user: User
    session: SessionStore
    htmx: HtmxDetails
