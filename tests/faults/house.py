"""The house that is to survive: ``deploy/up`` as it is, and an engine whose words are known.

Knows how to find, kill, stop and double its processes; not why.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

from deploy.appliance import temporary
from deploy.appliance.model import cached
from deploy.appliance.processes import Program, spawn
from tests.appliance import CHECKOUT, Appliance
from tests.faults import record, voices
from tests.faults.voices import Voice

ENGINE_BACK_S = 0.25  # deploy/up's own first pause before it starts something again
START_LIMIT_S = 60.0
# A script ends by itself; a small model goes on for ever where it may.
LONGEST = {False: "8000", True: "500"}


class Keeper:
    """Keeps one process running that is not the appliance's, as the appliance would."""

    def __init__(self, name: str, command: list[str], log: Path) -> None:
        self.name, self._command, self._log = name, command, log
        self.process = self._spawn()

    async def keep(self) -> None:
        """Start it again whenever it ends, until cancelled."""
        while True:
            if self.process.poll() is not None:
                await asyncio.sleep(ENGINE_BACK_S)
                self.process = self._spawn()
            await asyncio.sleep(0.05)

    def end(self) -> None:
        """For good."""
        with contextlib.suppress(ProcessLookupError):
            self.process.send_signal(signal.SIGCONT)
            self.process.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(5)
        self.process.kill()
        self.process.wait()

    def _spawn(self) -> subprocess.Popen[bytes]:
        return spawn(Program(self.name, self._command, dict(os.environ), CHECKOUT, self._log))


class House:
    """Appliance and engine. ``choir`` is what the engine can say; with a real ``model`` it is
    learnt in a rehearsal. ``spoken`` reads what was said so far."""

    def __init__(self, data: Path, choir: dict[str, Voice], *, model: Path | None) -> None:
        self._place, self._record, self.choir = data, data / "spoken", choir
        self._socket = data / "speak.sock"
        self.keepers: dict[str, Keeper] = {}
        self._model = model
        self.appliance = Appliance(
            data / "house",
            None,
            KONAK_ENGINE_URL=f"unix://{self._socket}",
            KONAK_ANSWER_MAX_TOKENS=LONGEST[model is not None],
        )

    @property
    def url(self) -> str:
        """Where the pages are."""
        return self.appliance.url

    @property
    def database(self) -> str:
        """Past the product."""
        return f"host={self.appliance.data / 'run' / 'postgres'} user=postgres dbname=konak"

    @property
    def valkey(self) -> Path:
        """The socket."""
        return self.appliance.data / "run" / "valkey.sock"

    @property
    def is_real(self) -> bool:
        """Whether a real model answers."""
        return self._model is not None

    def start(self) -> None:
        """Engine first, then the appliance, until it says that it is ready."""
        self._record.touch()
        if self._model is None:
            source = str(self._place / "script.json")
            voices.write(Path(source), self.choir)
        else:
            source = f"unix://{self._host()}"
        speaks = [sys.executable, "-m", "tests.faults.engine"]
        command = [*speaks, str(self._socket), str(self._record), source]
        self.keepers["speaker"] = Keeper("speaker", command, self._place / "speaker.log")
        self.appliance.start()
        limit = time.monotonic() + START_LIMIT_S
        while not self.appliance.is_ready():
            assert time.monotonic() < limit, "the house does not get ready"
            time.sleep(0.1)

    def _host(self) -> Path:
        """The bundled engine with the real model, as the appliance starts it."""
        assert self._model is not None
        models, socket = self._place / "models", self._place / "host.sock"
        models.mkdir()
        (models / self._model.name).symlink_to(self._model)
        serve = [sys.executable, "-m", "engine_adapter", "serve"]
        command = [*serve, "--models", str(models), "--socket", str(socket)]
        self.keepers["engine"] = Keeper("engine", command, self._place / "engine.log")
        return socket

    def stop(self) -> None:
        """Everything, whatever state it is in."""
        try:
            for name in self.appliance.pids():
                for pid in self.family(name):
                    _signal(pid, signal.SIGCONT)
            self.appliance.stop()
        finally:
            for keeper in self.keepers.values():
                keeper.end()

    def pid(self, name: str) -> int | None:
        """The process ``name`` as it runs now; ``model worker`` is the engine's own, ``page
        server`` the one that serves under the web program, which notices when it dies."""
        if name == "model worker":
            return next(iter(_children(self.pid("engine") or 0, "bundled.worker")), None)
        if name == "page server":
            return next(iter(_children(self.pid("web") or 0)), None)
        if name == "engine":
            keeper = self.keepers.get("engine") or self.keepers["speaker"]
            return keeper.process.pid
        return self.appliance.pids().get(name)

    def family(self, name: str) -> list[int]:
        """The process and everything it has started, itself first."""
        pid = self.pid(name)
        found = [pid] if pid else []
        for member in found:
            found += _children(member)
        return found

    def send(self, pids: list[int], number: signal.Signals) -> None:
        """A signal to each that is still there."""
        for pid in pids:
            _signal(pid, number)

    def people(self, count: int) -> list[str]:
        """Session keys of so many people who have just moved in."""
        made = subprocess.run(
            [sys.executable, "-m", "tests.bench.web_people", str(count)],
            env=self._environment("web"), cwd=CHECKOUT, capture_output=True, text=True, timeout=120,
        )  # fmt: skip
        assert made.returncode == 0, made.stderr[-2000:]
        return made.stdout.split()

    def second_runner(self) -> subprocess.Popen[bytes]:
        """Another runner beside the first, as a second machine would have it."""
        command = [sys.executable, "manage.py", "run_generations"]
        log = self._place / "second-runner.log"
        return spawn(Program("second", command, self._environment("runner"), CHECKOUT, log))

    def spoken(self, began_at: Mapping[str, float], until: float) -> dict[str, int]:
        """See ``record.spoken``."""
        return record.spoken(self._record.read_text(), began_at, until)

    def _environment(self, name: str) -> dict[str, str]:
        raw = Path(f"/proc/{self.appliance.pids()[name]}/environ").read_bytes()
        return dict(entry.split("=", 1) for entry in raw.decode().split("\0") if "=" in entry)


@contextlib.contextmanager
def standing(choir: dict[str, Voice], *, real: bool) -> Iterator[House]:
    """A house on fresh data as long as the block lasts."""
    with temporary.directory() as place:
        model = cached(lambda program: (spawn(program).wait(), "")) if real else None
        house = House(place, choir, model=model)
        try:
            house.start()
            yield house
        finally:
            house.stop()


def _children(pid: int, having: str = "") -> list[int]:
    found = []
    for path in Path(f"/proc/{pid}/task").glob("*/children"):
        with contextlib.suppress(OSError):
            found += [int(child) for child in path.read_text().split()]
    return [child for child in found if having in _command(child)]


def _command(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_text().replace("\0", " ")
    except OSError:
        return ""


def _signal(pid: int, number: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, number)
