"""Konak among a person's applications: a manifest that is whole, and icons of the size it says."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest
from django.contrib.staticfiles import finders
from django.test import Client

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize("language", ["en", "tr"])
def test_the_manifest_is_there_for_everybody_and_names_icons_that_are(language: str) -> None:
    client = Client(headers={"accept-language": language})
    page = client.get("/accounts/sign-in/").content.decode()
    assert '<link rel="manifest" href="/manifest.webmanifest">' in page
    response = client.get("/manifest.webmanifest")
    assert response["Content-Type"] == "application/manifest+json"
    told = response.json()
    assert told["lang"] == language
    assert (told["start_url"], told["display"]) == ("/", "standalone")
    assert {icon["purpose"] for icon in told["icons"]} == {"any", "maskable"}
    for icon in told["icons"]:
        assert icon["src"].startswith("/static/icon")


@pytest.mark.parametrize(
    ("name", "size"), [("icon-192.png", 192), ("icon-512.png", 512), ("icon-maskable-512.png", 512)]
)
def test_an_icon_has_the_size_that_the_manifest_says(name: str, size: int) -> None:
    head = Path(finders.find(name)).read_bytes()[:24]
    assert head[:8] == b"\x89PNG\r\n\x1a\n"
    assert struct.unpack(">II", head[16:24]) == (size, size)
