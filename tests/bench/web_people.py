"""People for ``deploy/bench web``, signed in: prints a session key for each. Runs inside Django."""

from __future__ import annotations

import os
import sys

import django


def main(count: str) -> None:
    """Move ``count`` people in."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "deploy.settings")
    django.setup()
    from tests.people import person, session_of

    for number in range(int(count)):
        print(session_of(person(f"Reader{number}")).session_key)


if __name__ == "__main__":
    main(*sys.argv[1:])
