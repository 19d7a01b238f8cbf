"""People come, change groups, and go; and the one-time links by which they set a password."""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Iterable
from datetime import timedelta

from django.conf import settings
from django.db import IntegrityError, transaction
from django.utils import timezone

from accounts import sessions
from accounts.domain import audit
from accounts.models import Group, SetupLink, User


class AddressTaken(Exception):
    """Somebody with this e-mail address is already here."""


class LinkInvalid(Exception):
    """The link was used, has expired, or never existed."""


class LastAdministrator(Exception):
    """Without this person nobody could manage the house any more."""


def _hash(token: str) -> str:
    return hashlib.sha256(token.encode()).hexdigest()


def make_link(
    purpose: SetupLink.Purpose, *, user: User | None = None, actor: User | None = None
) -> str:
    """A fresh one-time token; earlier unused ones for the same purpose and person stop working."""
    token = secrets.token_urlsafe(32)
    with transaction.atomic():
        SetupLink.objects.filter(purpose=purpose, user=user, used_at=None).delete()
        SetupLink.objects.create(
            token_hash=_hash(token),
            purpose=purpose,
            user=user,
            expires_at=timezone.now() + timedelta(hours=settings.SETUP_LINK_HOURS),
        )
        if user is not None:
            audit.record("person.link_made", actor=actor, about=user)
    return token


def open_link(token: str) -> SetupLink:
    """The link behind ``token``, if it can still be used. Raises ``LinkInvalid``."""
    link = (
        SetupLink.objects.select_related("user")
        .filter(token_hash=_hash(token), used_at=None, expires_at__gt=timezone.now())
        .first()
    )
    if link is None or (link.user is not None and not link.user.is_active):
        raise LinkInvalid
    if link.purpose == SetupLink.Purpose.FIRST_ADMINISTRATOR and has_administrator():
        raise LinkInvalid
    return link


def _use(link: SetupLink) -> None:
    used = SetupLink.objects.filter(pk=link.pk, used_at=None).update(used_at=timezone.now())
    if not used:
        raise LinkInvalid


def has_administrator() -> bool:
    """Whether somebody can manage the house."""
    return User.objects.filter(is_administrator=True, is_active=True).exists()


def first_administrator_token() -> str | None:
    """A one-time token to create the first administrator; ``None`` when there is one already."""
    if has_administrator():
        return None
    return make_link(SetupLink.Purpose.FIRST_ADMINISTRATOR)


def create_first_administrator(link: SetupLink, *, name: str, email: str, password: str) -> User:
    """Turn the first-start link into an administrator. Raises ``LinkInvalid``."""
    with transaction.atomic():
        _use(link)
        if has_administrator():
            raise LinkInvalid
        user = _create(name=name, email=email, is_administrator=True, manages_models=True)
        user.set_password(password)
        user.save(update_fields=["password"])
        audit.record("person.added", actor=user, about=user, administrator=True)
        audit.record("person.password_set", actor=user, about=user)
    return user


def _create(*, name: str, email: str, **roles: bool) -> User:
    user = User(name=name.strip(), email=email.strip().lower(), **roles)
    user.set_unusable_password()
    try:
        with transaction.atomic():
            user.save(force_insert=True)
    except IntegrityError as error:
        raise AddressTaken from error
    return user


def add_person(
    *, actor: User, name: str, email: str, is_administrator: bool, manages_models: bool = False,
    groups: Iterable[Group],
) -> tuple[User, str]:  # fmt: skip
    """A new person without a password, and the token of the link that sets one.

    Raises ``AddressTaken``.
    """
    with transaction.atomic():
        roles = {"is_administrator": is_administrator, "manages_models": manages_models}
        user = _create(name=name, email=email, **roles)
        user.groups.set(groups)
        audit.record(
            "person.added", actor=actor, about=user,
            administrator=is_administrator, manages_models=manages_models,
        )  # fmt: skip
        token = make_link(SetupLink.Purpose.PASSWORD, user=user, actor=actor)
    return user, token


def set_password(link: SetupLink, *, password: str) -> User:
    """Use the link: the person gets this password and every other session ends."""
    user = link.user
    if user is None:
        raise LinkInvalid
    with transaction.atomic():
        _use(link)
        user.set_password(password)
        user.save(update_fields=["password"])
        sessions.end_all(user)
        audit.record("person.password_set", actor=user, about=user)
    return user


def change_person(
    user: User, *, actor: User, name: str, is_administrator: bool, manages_models: bool = False,
    groups: Iterable[Group],
) -> None:  # fmt: skip
    """Name, rights and groups. Raises ``LastAdministrator``."""
    with transaction.atomic():
        if user.is_administrator and not is_administrator:
            _refuse_last_administrator(user)
        user.name, user.is_administrator = name.strip(), is_administrator
        user.manages_models = manages_models
        user.save(update_fields=["name", "is_administrator", "manages_models"])
        user.groups.set(groups)
        audit.record(
            "person.changed",
            actor=actor,
            about=user,
            administrator=is_administrator,
            manages_models=manages_models,
            groups=[str(group.pk) for group in groups],
        )


def deactivate(user: User, *, actor: User) -> None:
    """Close the door: no sign-in, and every session ends now. Conversations stay.

    Raises ``LastAdministrator``. The caller tells the open sockets.
    """
    with transaction.atomic():
        _refuse_last_administrator(user)
        user.is_active = False
        user.save(update_fields=["is_active"])
        sessions.end_all(user)
        audit.record("person.deactivated", actor=actor, about=user)


def activate(user: User, *, actor: User) -> None:
    """Open the door again, with the password the person had."""
    with transaction.atomic():
        user.is_active = True
        user.save(update_fields=["is_active"])
        audit.record("person.activated", actor=actor, about=user)


def _refuse_last_administrator(user: User) -> None:
    """Locks the administrators' rows, so that two cannot dismiss each other at once."""
    others = User.objects.select_for_update().filter(is_administrator=True, is_active=True)
    if user.is_administrator and user.is_active and not [o for o in others if o.pk != user.pk]:
        raise LastAdministrator


def add_group(name: str, *, actor: User) -> Group:
    """A new group. Raises ``IntegrityError`` when the name is taken."""
    with transaction.atomic():
        group = Group.objects.create(name=name.strip())
        audit.record("group.added", actor=actor, about=group)
    return group


def delete_group(group: Group, *, actor: User) -> None:
    """The group goes, its people stay."""
    with transaction.atomic():
        audit.record("group.deleted", actor=actor, about=group, people=group.people.count())
        group.delete()


def set_group_people(group: Group, people: Iterable[User], *, actor: User) -> None:
    """Of the active people exactly these are in the group; who is deactivated stays as they are."""
    with transaction.atomic():
        group.people.set([*people, *group.people.filter(is_active=False)])
        audit.record(
            "group.membership_changed", actor=actor, about=group, people=group.people.count()
        )


def set_temporary_only(group: Group, temporary_only: bool, *, actor: User) -> None:
    """Whether the people of the group store no new conversation. What they have stays."""
    with transaction.atomic():
        group.temporary_only = temporary_only
        group.save(update_fields=["temporary_only"])
        audit.record("group.rule_changed", actor=actor, about=group, temporary_only=temporary_only)
