"""``manage.py prepare``: everything between an installed checkout and a house that can open."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management import call_command
from django.core.management.base import BaseCommand
from django.db import connection
from django.db.migrations.executor import MigrationExecutor
from django.urls import reverse

from accounts.domain import provisioning
from deploy import statics, translations


class Command(BaseCommand):
    """Compiles translations, gathers static files, migrates; does only what is due.

    The last line is ``first-administrator: PATH`` while the house has no administrator.
    """

    help = (
        "Compile translations, collect static files, migrate, print the first administrator's link."
    )
    requires_system_checks: list[str] = []

    def handle(self, *args: Any, **options: Any) -> None:
        """Bring the house up to date."""
        for path in settings.LOCALE_PATHS:
            translations.compile_all(Path(path))
        statics.gather()
        executor = MigrationExecutor(connection)
        if executor.migration_plan(executor.loader.graph.leaf_nodes()):
            call_command("migrate", interactive=False, verbosity=0)
        token = provisioning.first_administrator_token()
        if token:
            link = reverse("accounts:welcome", args=[token])
            self.stdout.write(f"first-administrator: {link}")
