"""From a bare Python to the appliance or the tests: install what is locked, then hand over."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Sequence

from deploy.appliance import checks, config, model
from deploy.appliance.messages import Refusal, complain, say
from deploy.appliance.packages import Environment

# purpose → the lock file it needs and the module that goes on
PURPOSES = {
    "up": ("run.txt", "deploy.appliance"),
    "test": ("test.txt", "deploy.checking"),
    "translate": ("run.txt", "deploy.translating"),
    "bench": ("run.txt", "tests.bench"),
    "faults": ("run.txt", "tests.faults"),
}


def main(arguments: Sequence[str]) -> int:
    """One of the purposes with its arguments. Returns only when something forbids to go on."""
    purpose, *rest = arguments
    lock, module = PURPOSES[purpose]
    environment = Environment(config.CHECKOUT, lock)
    os.umask(0o022)  # as root PostgreSQL runs as another user, from inside .venv
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    if purpose == "bench":
        sys.stdout = sys.stderr  # what it prints is its result and nothing else
    try:
        if purpose == "up":
            rest = _asked(rest, installed=environment.is_installed())
        environment.ensure()
    except Refusal as refusal:
        complain(refusal)
        return 1
    except KeyboardInterrupt:
        say("interrupted")
        return 130
    python = str(environment.python)
    os.chdir(config.CHECKOUT)
    sys.stdout.flush()
    os.execv(python, [python, "-m", module, *rest])  # noqa: S606 - our own interpreter


def _asked(arguments: Sequence[str], *, installed: bool) -> list[str]:
    """The arguments with absolute paths. What can be refused is refused before the long build."""
    asked = config.read(arguments, os.environ)
    if asked.starter_model:
        os.environ["KONAK_STARTER_MODEL"] = str(asked.starter_model)
    if not installed:
        if asked.starter_model:
            model.check_given(asked.starter_model)
        checks.port_is_free(asked.host, asked.port)
    return asked.arguments()
