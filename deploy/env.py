"""Typed readers for ``KONAK_`` environment variables.

A wrong value refuses to start and names the variable. ``NAME_FILE`` holds a path whose content is
the value, for secrets. ``READ`` remembers every name asked for, so that a test can compare it with
the documentation.
"""

from __future__ import annotations

import os
from pathlib import Path
from urllib.parse import parse_qs, unquote, urlsplit

from django.core.exceptions import ImproperlyConfigured

READ: set[str] = set()
_UNSET = object()


def text(name: str, default: str | object = _UNSET) -> str:
    """The value of ``name`` or the content of the file that ``name_FILE`` names.

    Raises ``ImproperlyConfigured`` when neither is set and there is no default, or both are set.
    """
    READ.add(name)
    value, file = os.environ.get(name), os.environ.get(f"{name}_FILE")
    if value is not None and file is not None:
        raise ImproperlyConfigured(f"Set {name} or {name}_FILE, not both.")
    if file is not None:
        try:
            value = Path(file).read_text().strip()
        except OSError as error:
            raise ImproperlyConfigured(
                f"{name}_FILE: {file} cannot be read ({error.strerror})."
            ) from error
    if value is None or value == "":
        if default is _UNSET:
            raise ImproperlyConfigured(f"{name} is not set.")
        value = str(default)
    return value


def boolean(name: str, default: bool = False) -> bool:
    """``1 true yes on`` or ``0 false no off``, in any case."""
    value = text(name, "on" if default else "off").lower()
    if value in {"1", "true", "yes", "on"}:
        return True
    if value in {"0", "false", "no", "off"}:
        return False
    raise ImproperlyConfigured(f"{name} must be yes or no, not {value!r}.")


def integer(name: str, default: int, *, at_least: int = 0) -> int:
    """A whole number, not below ``at_least``."""
    value = text(name, str(default))
    try:
        number = int(value)
    except ValueError:
        raise ImproperlyConfigured(f"{name} must be a whole number, not {value!r}.") from None
    if number < at_least:
        raise ImproperlyConfigured(f"{name} must be at least {at_least}, not {number}.")
    return number


def path(name: str, default: Path) -> Path:
    """An absolute path."""
    return Path(text(name, str(default))).expanduser().resolve()


def url(name: str, default: str | object = _UNSET, *, schemes: tuple[str, ...]) -> str:
    """A URL with one of ``schemes``, without a trailing slash."""
    value = text(name, default).rstrip("/")
    try:
        scheme = urlsplit(value).scheme
    except ValueError:
        scheme = ""
    if scheme not in schemes:
        raise ImproperlyConfigured(
            f"{name} must start with {' or '.join(s + '://' for s in schemes)}."
        )
    return value


def proxy(name: str) -> str:
    """``http://[user:password@]host[:port]``, or nothing."""
    value = text(name, "").rstrip("/")
    try:
        parts = urlsplit(value)
        in_order = parts.scheme == "http" and bool(parts.hostname) and parts.port != 0
    except ValueError:
        in_order = False
    if value and (not in_order or parts.path or parts.query or parts.fragment):
        raise ImproperlyConfigured(f"{name} must be like http://host:port, with nothing after it.")
    return value


def token(name: str) -> str:
    """A secret word that goes into a header, or nothing."""
    value = text(name, "")
    if not (value.isascii() and value.isprintable()) or " " in value:
        raise ImproperlyConfigured(f"{name} must be one word of plain letters, digits and signs.")
    return value


def database(name: str) -> dict[str, object]:
    """A PostgreSQL URL as Django's ``DATABASES`` entry.

    ``postgresql://user:password@host:port/name?sslmode=…``; ``?host=/dir`` names a socket folder.
    """
    parts = urlsplit(url(name, schemes=("postgresql", "postgres")))
    options = {key: values[-1] for key, values in parse_qs(parts.query).items()}
    host = options.pop("host", None) or parts.hostname or ""
    return {
        "ENGINE": "django.db.backends.postgresql",
        "NAME": unquote(parts.path.lstrip("/")),
        "USER": unquote(parts.username or ""),
        "PASSWORD": unquote(parts.password or ""),
        "HOST": host,
        "PORT": str(parts.port or ""),
        "OPTIONS": dict(options),
    }
