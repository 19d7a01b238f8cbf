"""Secrets of other servers as the database keeps them: sealed with the house's own key."""

from __future__ import annotations

import base64
import os
from typing import Final

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from django.conf import settings

_NONCE_BYTES: Final = 12


class Unreadable(Exception):
    """It was sealed with another key: the house's secret key is not the one it was then."""


def seal(secret: str) -> str:
    """The text to store. Nothing stays nothing."""
    if not secret:
        return ""
    nonce = os.urandom(_NONCE_BYTES)
    return base64.b64encode(nonce + _cipher().encrypt(nonce, secret.encode(), None)).decode()


def unseal(stored: str) -> str:
    """What was sealed. Raises ``Unreadable``."""
    if not stored:
        return ""
    try:
        data = base64.b64decode(stored, validate=True)
        return _cipher().decrypt(data[:_NONCE_BYTES], data[_NONCE_BYTES:], None).decode()
    except (ValueError, InvalidTag) as error:
        raise Unreadable from error


def _cipher() -> AESGCM:
    key = HKDF(SHA256(), length=32, salt=None, info=b"konak vault")
    return AESGCM(key.derive(settings.SECRET_KEY.encode()))
