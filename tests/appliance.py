"""The whole appliance as a person starts it: ``deploy/up`` as a process, its lines, its end."""

from __future__ import annotations

import functools
import json
import os
import re
import signal
import socket
import subprocess
import threading
import time
import urllib.request
from collections.abc import Mapping
from pathlib import Path

from deploy.appliance.processes import end_with_parent

CHECKOUT = Path(__file__).resolve().parent.parent
UP = CHECKOUT / "deploy" / "up"
NAMES = ("postgres", "valkey", "engine", "web", "runner", "worker")
START_LIMIT_S = 100.0
STOP_LIMIT_S = 10.0


def free_port() -> int:
    """A port nobody listens on at this moment."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def environment(**extra: str) -> dict[str, str]:
    """Ours without what the test run has set for itself; English sentences."""
    own = {k: v for k, v in os.environ.items() if not k.startswith(("KONAK_", "DJANGO_"))}
    return {**own, "LC_ALL": "C.UTF-8", **extra}


def refused(
    *arguments: str, env: Mapping[str, str], up: Path = UP
) -> subprocess.CompletedProcess[str]:
    """Run a ``deploy/up`` that is expected to end by itself."""
    return subprocess.run([up, *arguments], env=env, capture_output=True, text=True, timeout=60)


class Appliance:
    """One ``deploy/up`` on ``data``. ``lines`` is what it has told the person so far."""

    def __init__(
        self, data: Path, model: Path | None, port: int | None = None, **extra: str
    ) -> None:
        self.data, self.port = data, port or free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.lines: list[str] = []
        self._environment = environment(KONAK_STARTER_MODEL=str(model or ""), **extra)

    def start(self) -> None:
        """Start and return when the address has been printed."""
        self.lines = []
        self.process = subprocess.Popen(
            [UP, "--port", str(self.port), "--data", str(self.data)],
            env=self._environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
            preexec_fn=functools.partial(end_with_parent, signal.SIGTERM, os.getpid()),
        )
        self._reader = threading.Thread(target=self._read)
        self._reader.start()
        limit = time.monotonic() + START_LIMIT_S
        while not any(line.startswith("Stop it with") for line in self.lines):
            if self.process.poll() is not None or time.monotonic() > limit:
                self.stop()
                raise AssertionError("deploy/up did not get ready:\n" + self._story())
            time.sleep(0.05)

    @property
    def first_link(self) -> str | None:
        """The one-time link for the first administrator, when it was printed."""
        found = re.search(r"first administrator.*?(http\S+)", "\n".join(self.lines))
        return found[1] if found else None

    def pids(self) -> dict[str, int]:
        """Name → process id of what runs now."""
        content = json.loads((self.data / "processes.json").read_text())
        return {name: pid for name, (pid, _) in content["processes"].items()}

    def log(self, name: str) -> str:
        """What the process ``name`` has logged."""
        return (self.data / "logs" / f"{name}.log").read_text()

    def is_ready(self) -> bool:
        """``/readyz`` answers 200: database, Valkey and engine are there."""
        try:
            with urllib.request.urlopen(f"{self.url}/readyz", timeout=5) as answer:
                return bool(answer.status == 200)
        except OSError:  # nobody listens, or 503
            return False

    def until_ready(self) -> None:
        """Return when ``/readyz`` answers 200; fail after ``START_LIMIT_S``."""
        limit = time.monotonic() + START_LIMIT_S
        while not self.is_ready():
            assert time.monotonic() < limit, self._story()
            time.sleep(0.2)

    def stop(self) -> int:
        """Ctrl-C; the exit code. Fails when that takes longer than a person is promised."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)
        try:
            code = self.process.wait(STOP_LIMIT_S)
        finally:
            self.process.kill()
            self.process.wait()
            self._reader.join()
        return code

    def _read(self) -> None:
        assert self.process.stdout is not None
        with self.process.stdout as stream:
            for line in stream:
                self.lines.append(line.rstrip())

    def _story(self) -> str:
        logs = sorted((self.data / "logs").glob("*.log"))
        tails = [f"--- {log.name}\n{log.read_text(errors='replace')[-1500:]}" for log in logs]
        return "\n".join([*self.lines, *tails])
