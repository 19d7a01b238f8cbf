"""Architecture tests render pages: files are gathered and Turkish is compiled."""

from __future__ import annotations

from pathlib import Path

import pytest
from django.conf import settings
from django.core.management import call_command

from deploy import translations


@pytest.fixture(scope="session", autouse=True)
def _prepared() -> None:
    """Static files and translations, as ``manage.py prepare`` leaves them."""
    for path in settings.LOCALE_PATHS:
        translations.compile_all(Path(path))
    call_command("collectstatic", interactive=False, verbosity=0)
