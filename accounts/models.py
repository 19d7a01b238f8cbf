"""The rows of people, groups, sessions, one-time links and the audit ledger."""

from __future__ import annotations

import uuid
from typing import Any, ClassVar

from django.contrib.auth.models import AbstractBaseUser, BaseUserManager
from django.contrib.sessions.base_session import AbstractBaseSession
from django.db import models
from django.db.models.functions import Lower
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from accounts.sessions import SessionStore


class UserManager(BaseUserManager["User"]):
    """Finds people by the address they sign in with, whatever its case."""

    def get_by_natural_key(self, username: str | None) -> User:
        """The person with this e-mail address. Raises ``User.DoesNotExist``."""
        # Stored in small letters. The database's own folding takes "ı" and "i" for one letter.
        return self.get(email=(username or "").strip().lower())


class Group(models.Model):
    """People who get the same things: a ward, a department, a project."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    name = models.CharField(_("name"), max_length=80, unique=True)
    # Its people store no new conversation, whatever their other groups say.
    temporary_only = models.BooleanField(default=False, db_default=False)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["name"]

    def __str__(self) -> str:
        return self.name


class User(AbstractBaseUser):
    """A person of the house. Never deleted while the ledger names them: deactivated instead."""

    class Theme(models.TextChoices):
        """How pages look; nothing chosen follows the system."""

        LIGHT = "light", _("Light")
        DARK = "dark", _("Dark")

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    email = models.EmailField(_("e-mail address"), max_length=254, unique=True)
    name = models.CharField(_("name"), max_length=120)
    language = models.CharField(_("language"), max_length=10, blank=True)
    theme = models.CharField(_("appearance"), max_length=5, choices=Theme, blank=True)
    is_active = models.BooleanField(default=True)
    is_administrator = models.BooleanField(_("administrator"), default=False)
    manages_models = models.BooleanField(default=False, db_default=False)
    groups = models.ManyToManyField(Group, related_name="people", blank=True)
    created_at = models.DateTimeField(auto_now_add=True)
    deletion_requested_at = models.DateTimeField(null=True)

    objects: ClassVar[UserManager] = UserManager()

    USERNAME_FIELD = "email"
    REQUIRED_FIELDS = ["name"]

    class Meta:
        ordering = [Lower("name"), "email"]
        constraints = [models.UniqueConstraint(Lower("email"), name="one_person_an_address")]

    def __str__(self) -> str:
        return self.name


class Session(AbstractBaseSession):
    """A signed-in browser. Knows its person, so that all of somebody's can be ended at once."""

    user = models.ForeignKey(User, on_delete=models.CASCADE, null=True, related_name="sessions")
    started_at = models.DateTimeField()
    used_at = models.DateTimeField(default=timezone.now)

    @classmethod
    def get_session_store_class(cls) -> type[Any]:
        """The store that reads and writes these rows."""
        return SessionStore


class SetupLink(models.Model):
    """A link that sets a password once. Only the token's hash is stored."""

    class Purpose(models.TextChoices):
        """What the link is for."""

        FIRST_ADMINISTRATOR = "first_administrator"
        PASSWORD = "password"  # noqa: S105 - the name of a purpose, not a password

    token_hash = models.CharField(max_length=64, unique=True)
    purpose = models.CharField(max_length=24, choices=Purpose)
    user = models.ForeignKey(User, on_delete=models.CASCADE, null=True, related_name="setup_links")
    created_at = models.DateTimeField(auto_now_add=True)
    expires_at = models.DateTimeField()
    used_at = models.DateTimeField(null=True)

    def __str__(self) -> str:
        return f"{self.purpose} until {self.expires_at:%Y-%m-%d %H:%M}"


class AuditEntry(models.Model):
    """One act, written in the act's own transaction. The database refuses to change or delete it.

    Holds ids and allow-listed facts only: no prompt, no answer, no title. Not a foreign key in
    sight, so that an entry outlives everything it names.
    """

    class Outcome(models.TextChoices):
        """How the act ended."""

        DONE = "done"
        FAILED = "failed"
        DENIED = "denied"

    id = models.BigAutoField(primary_key=True)
    at = models.DateTimeField(auto_now_add=True)
    actor_id = models.UUIDField(null=True)
    verb = models.CharField(max_length=40)
    object_type = models.CharField(max_length=40, blank=True)
    object_id = models.CharField(max_length=64, blank=True)
    outcome = models.CharField(max_length=8, choices=Outcome, default=Outcome.DONE)
    address = models.GenericIPAddressField(null=True)
    facts = models.JSONField(default=dict)

    class Meta:
        indexes = [
            models.Index(fields=["actor_id", "at"], name="audit_by_actor"),
            models.Index(fields=["object_type", "object_id"], name="audit_by_object"),
        ]

    def __str__(self) -> str:
        return f"{self.at:%Y-%m-%d %H:%M:%S} {self.verb}"
