"""``deploy/bench search``: search over a million messages, and the sidebar of 10,000 conversations.

Builds them in a database of its own, then asks as everybody: through the domain and as a page.
"""

from __future__ import annotations

import contextlib
import json
import os
import secrets
from argparse import Namespace
from collections.abc import Iterator
from pathlib import Path

from deploy.appliance import temporary
from tests.bench import machine
from tests.bench.measuring import tell


def run(options: Namespace) -> int:
    """Build, measure and print. 130 where it was interrupted."""
    try:
        with _place(options.keep) as place, temporary.database(place) as url:
            _settle(place, url)
            from tests.bench import search_building, search_measuring

            built = search_building.ensure(place / "built.json", options.messages, options.people)
            result = {
                "machine": machine.facts(),
                "versions": machine.versions(),
                **built,
                **search_measuring.measure(options.people, options.asks),
            }
            print(json.dumps(result) if options.json else search_measuring.table(result))
    except KeyboardInterrupt:
        tell("Interrupted; the database that was started has ended.")
        return 130
    return 0


@contextlib.contextmanager
def _place(keep: Path | None) -> Iterator[Path]:
    if keep is None:
        with temporary.directory() as place:
            yield place
    else:
        keep.mkdir(parents=True, exist_ok=True)
        keep.chmod(0o711 if os.geteuid() == 0 else 0o700)
        yield keep.resolve()


def _settle(place: Path, url: str) -> None:
    """Django in this process, on this database; nothing else of the house is there."""
    for name in [name for name in os.environ if name.startswith("KONAK_")]:
        del os.environ[name]
    os.environ.update(
        DJANGO_SETTINGS_MODULE="deploy.settings",
        KONAK_DATA=str(place),
        KONAK_DATABASE_URL=url,
        KONAK_VALKEY_URL=f"unix://{place / 'valkey.sock'}",
        KONAK_ENGINE_URL=f"unix://{place / 'engine.sock'}",
        KONAK_SECRET_KEY=secrets.token_urlsafe(50),
        KONAK_PUBLIC_URL="http://testserver",
    )
    import django

    django.setup()
