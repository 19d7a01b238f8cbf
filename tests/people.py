"""The people of the tests: alice owns, bob shares her group, mallory is entitled to nothing.

The administrator manages people and groups and may read nobody's conversations.
"""

from __future__ import annotations

from dataclasses import dataclass

from django.http import HttpRequest
from django.test import Client

from accounts import sessions
from accounts.models import Group, User

PASSWORD = "seven quiet herons"


@dataclass(frozen=True)
class People:
    """Everybody of the house."""

    alice: User
    bob: User
    mallory: User
    administrator: User


def move_in() -> People:
    """Write the four down. Nobody has a password yet."""
    ward = Group.objects.create(name="Ward 3")
    alice, bob, mallory = (person(name) for name in ("Alice", "Bob", "Mallory"))
    alice.groups.set([ward])
    bob.groups.set([ward])
    return People(alice, bob, mallory, person("Ada", is_administrator=True, manages_models=True))


def person(name: str, *, password: str | None = None, **more: object) -> User:
    """One person, at ``name@example.org``."""
    user = User(name=name, email=f"{name.lower()}@example.org", **more)
    user.set_password(password)
    user.save()
    return user


def browser(user: User | None = None, **options: object) -> Client:
    """A browser, signed in as ``user``. ``options`` are Django's ``Client``'s."""
    client = Client(**options)
    if user is not None:
        client.cookies["sessionid"] = session_of(user).session_key or ""
    return client


def session_of(user: User) -> sessions.SessionStore:
    """A stored session of ``user``, begun as the sign-in page begins one."""
    request = HttpRequest()
    request.session = sessions.SessionStore()
    sessions.start(request, user)
    request.session.save()
    return request.session
