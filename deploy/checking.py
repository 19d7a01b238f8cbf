"""``deploy/test`` once the packages are there: every check in order, pytest last.

Pytest takes minutes and runs only when all the others passed, so that what failed stands at the
end of what is printed. With arguments only pytest runs, with these. The exit code says whether
all steps passed.
"""

from __future__ import annotations

import os
import secrets
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from deploy.appliance import temporary
from deploy.appliance.config import CHECKOUT
from deploy.appliance.messages import Refusal, complain

ROOMS = ("engine_adapter", "chat", "accounts", "deploy")
TEMPLATES = ("chat", "accounts", "deploy")
BROWSERS = ("chromium", "chromium-browser", "google-chrome")


@dataclass(frozen=True)
class Step:
    """One check: a command whose exit code says whether it passed."""

    name: str
    command: Sequence[str]
    environment: dict[str, str] = field(default_factory=dict)


def main(arguments: Sequence[str]) -> int:
    if not _browser_is_here():
        sys.stderr.write(
            "The tests need Chromium, and it could not be installed; on Debian: "
            "apt install chromium.\n"
        )
        return 1
    try:
        sound = bool(arguments) or _checks()
    except Refusal as refusal:
        complain(refusal)
        return 1
    return 0 if sound and _passes(Step("pytest", _module("pytest", *arguments)), last=True) else 1


def _checks() -> bool:
    """Run everything but pytest, all of it; when something failed, say at the end what."""
    with temporary.directory() as place, temporary.database(place) as url:
        outcomes = {step.name: _passes(step) for step in _steps(url)}
    failed = [name for name, passed in outcomes.items() if not passed]
    if failed:
        _tell(f"failed: {', '.join(failed)}; the tests were not begun")
        sys.stdout.write(f"{len(outcomes) - len(failed)} passed, {len(failed)} failed\n")
    return not failed


def _steps(database_url: str) -> list[Step]:
    settings = _production_like(database_url)
    manage = (sys.executable, "manage.py")
    check = ("check", "--deploy", "--fail-level", "WARNING")
    return [
        Step("ruff", _module("ruff", "check")),
        Step("format", _module("ruff", "format", "--check")),
        Step("mypy", _module("mypy", *ROOMS), settings),
        Step("import contracts", _script("lint-imports")),
        Step("template lint", _module("djlint", "--lint", "--quiet", *TEMPLATES)),
        Step("template format", _module("djlint", "--check", *TEMPLATES)),
        Step("migrations", [*manage, "makemigrations", "--check", "--dry-run"], settings),
        Step("deploy check", [*manage, *check], settings),
    ]


def _module(name: str, *arguments: str) -> list[str]:
    return [sys.executable, "-m", name, *arguments]


def _script(name: str) -> list[str]:
    return [sys.executable, str(Path(sys.executable).parent / name)]


def _production_like(database_url: str) -> dict[str, str]:
    """Settings as a real house has them; nobody listens behind the sockets."""
    nowhere = "/nonexistent/konak"
    return {
        "DJANGO_SETTINGS_MODULE": "deploy.settings",
        "KONAK_SECRET_KEY": secrets.token_urlsafe(50),
        "KONAK_PUBLIC_URL": "https://konak.example.org",
        "KONAK_DATABASE_URL": database_url,
        "KONAK_VALKEY_URL": f"unix://{nowhere}/valkey.sock",
        "KONAK_ENGINE_URL": f"unix://{nowhere}/engine.sock",
    }


def _passes(step: Step, *, last: bool = False) -> bool:
    """Run one step. Of the last one pytest's own summary must stay the last line."""
    _tell(step.name)
    begun = time.monotonic()
    own = {k: v for k, v in os.environ.items() if not k.startswith("KONAK_")}
    code = subprocess.run(  # noqa: S603 - our own tools
        step.command, cwd=CHECKOUT, env={**own, **step.environment}, check=False
    ).returncode
    if not last:
        _tell(
            f"{step.name}: {'passed' if code == 0 else 'FAILED'}, {time.monotonic() - begun:.1f} s"
        )
    return code == 0


def _tell(words: str) -> None:
    sys.stdout.write(f"== {words}\n")
    sys.stdout.flush()


def _browser_is_here() -> bool:
    """True when Chromium is on the path, from the system's packages where that is possible."""
    if any(map(shutil.which, BROWSERS)):
        return True
    if os.geteuid() == 0 and shutil.which("apt-get"):
        _tell("installing Chromium")
        quiet = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
        install = ["apt-get", "install", "-y", "-qq", "--no-install-recommends", "chromium"]
        for command in (["apt-get", "update", "-qq"], install):
            subprocess.run(command, env=quiet, stdout=subprocess.DEVNULL, check=False)  # noqa: S603 - fixed words
    return any(map(shutil.which, BROWSERS))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
