"""Integration tests have Valkey and gathered files; PostgreSQL comes with the database marker."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings as django_settings
from django.core.management import call_command

from deploy import translations
from engine_adapter.bundled.config import Settings
from engine_adapter.bundled.host import BundledEngine
from tests.listening import listening


@pytest.fixture(scope="session", autouse=True)
def _valkey(valkey_server: str) -> None:
    """The channel layer and the queue work."""


@pytest.fixture(scope="session", autouse=True)
def _prepared() -> None:
    """Static files and translations, as ``manage.py prepare`` leaves them."""
    for path in django_settings.LOCALE_PATHS:
        translations.compile_all(Path(path))
    call_command("collectstatic", interactive=False, verbosity=0)


@pytest.fixture(scope="module")
def models_engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, str]]:
    """An engine that answers: its models' folder and its address."""
    models = tmp_path_factory.mktemp("models")
    with listening(BundledEngine(models, Settings(slots=2, context=512))) as url:
        yield models, url


@pytest.fixture
def folder(models_engine: tuple[Path, str], settings: Any) -> Path:
    """The models' folder of that engine, empty."""
    models, settings.ENGINE_URL = models_engine
    settings.MODELS_DIR = str(models)
    for path in models.iterdir():
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    return models
