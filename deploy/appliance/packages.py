"""The virtual environment at the top of the checkout, exactly as a lock file says.

Only llama-cpp-python is built here, with locked build tools; everything else must be a wheel.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

from deploy.appliance import checks
from deploy.appliance.build import Build, choose
from deploy.appliance.messages import Refusal, say
from deploy.appliance.progress import follow

BUILT_HERE = "llama-cpp-python"
# Measured: 0.6 GB installed, 0.4 GB of archives and objects while building; the rest is reserve.
ENVIRONMENT_BYTES = 1_000_000_000
BUILD_BYTES = 800_000_000
# These would send the packages somewhere else than into .venv.
MISLEADING = {
    *("PIP_TARGET", "PIP_PREFIX", "PIP_ROOT", "PIP_USER", "PIP_REQUIRE_VIRTUALENV"),
    *("PYTHONPATH", "PYTHONHOME"),
}


class Environment:
    """``.venv`` of ``checkout`` for one lock file of deploy/lock.

    Its stamps say what it holds, and how llama-cpp-python was built. A mark stands in it while
    packages are written: an environment with the mark is half-made and is made anew.
    """

    def __init__(self, checkout: Path, lock: str) -> None:
        self.directory = checkout / ".venv"
        self.python = self.directory / "bin" / "python"
        self._lock_directory = checkout / "deploy" / "lock"
        self._lock = lock
        self._unfinished = self.directory / "unfinished"
        self._built = self.directory / "built"

    def is_installed(self) -> bool:
        """True when the packages are those of the lock file, completely, and llama-cpp-python was
        built as CMAKE_ARGS asks, where it asks for anything."""
        if not self._is_usable() or self._is_built_otherwise():
            return False
        # The test packages contain the others, in the same versions.
        return any(self._has(lock) for lock in {self._lock, "test.txt"})

    def ensure(self) -> None:
        """Install what the lock file says, where it is not there. Raises ``Refusal``."""
        if self.is_installed():
            return
        with self._nobody_else():
            if not self.is_installed():
                self._install()

    def _is_usable(self) -> bool:
        return os.access(self.python, os.X_OK) and not self._unfinished.exists()

    def _is_built_otherwise(self) -> bool:
        asked = os.environ.get("CMAKE_ARGS")
        return bool(asked) and self._told().get("CMAKE_ARGS") != asked

    def _told(self) -> dict[str, str]:
        """The variables llama-cpp-python was built with."""
        try:
            told: dict[str, str] = json.loads(self._built.read_text())["variables"]
        except (OSError, ValueError, KeyError, TypeError):
            return {}
        return told

    def _has(self, lock: str) -> bool:
        stamp = self._stamp(lock)
        return stamp.exists() and stamp.read_text() == self._digest(lock)

    def _stamp(self, lock: str) -> Path:
        return self.directory / f"installed-{lock}"

    def _locks(self, lock: str) -> list[Path]:
        return [self._lock_directory / name for name in ("pip.txt", "build.txt", lock)]

    def _alone(self, lock: str) -> list[Path]:
        """Packages of which a part is used that needs none of the many that they name."""
        alone = self._lock_directory / f"alone-{lock}"
        return [alone] if alone.exists() else []

    def _digest(self, lock: str) -> str:
        locks = [*self._locks(lock), *self._alone(lock)]
        return hashlib.sha256(b"".join(path.read_bytes() for path in locks)).hexdigest()

    def _install(self) -> None:
        build = choose(os.environ)
        checks.room_for(self.directory, ENVIRONMENT_BYTES)
        checks.room_for(Path(tempfile.gettempdir()), BUILD_BYTES)
        say("installing")
        try:
            if not self._is_usable():
                shutil.rmtree(self.directory, ignore_errors=True)
                self._make()
            *tools, packages = self._locks(self._lock)
            for lock in tools:
                self._pip(lock)
            self._build(packages, build)
            self._pip(packages)
            for alone in self._alone(self._lock):
                self._pip(alone, ["--no-deps"])
            self._stamp(self._lock).write_text(self._digest(self._lock))
            self._unfinished.unlink(missing_ok=True)
        except BaseException as error:
            if not self._is_usable():
                shutil.rmtree(self.directory, ignore_errors=True)
            if isinstance(error, OSError):
                raise Refusal("install_failed", reason=error.strerror or error) from error
            raise
        say("installed")

    def _make(self) -> None:
        """An environment with pip: its own, or else this Python's put into it."""
        self.directory.mkdir()
        self._unfinished.touch()
        make = [sys.executable, "-m", "venv", str(self.directory)]
        if _quiet(make) == 0:
            return
        borrow = [sys.executable, "-m", "pip", "--python", str(self.python), "install"]
        pip_lock = str(self._lock_directory / "pip.txt")
        if _quiet([*make, "--without-pip"]) or _quiet(
            [*borrow, "--require-hashes", "-r", pip_lock]
        ):
            raise Refusal("no_venv")

    def _build(self, lock: Path, build: Build) -> None:
        """Install llama-cpp-python alone, where it is not there as it should be.

        pip keeps what it has built by name and version only, so each way of building has a cache
        of its own.
        """
        told = json.dumps({"variables": dict(build.variables), "lock": _requirement(lock)})
        if self._built.exists() and self._built.read_text() == told:
            return
        if build.for_cuda:
            say("building_cuda")
        if build.without_card:
            say("building_without_card")
        if build.without_tiles:
            say("building_without_tiles")
        options = ["--no-deps", "--force-reinstall"]
        if build.key:
            options += ["--cache-dir", str(_cache() / f"built-{build.key}")]
        self._built.unlink(missing_ok=True)
        with tempfile.NamedTemporaryFile("w", suffix=".txt") as only:
            only.write(_requirement(lock))
            only.flush()
            self._pip(Path(only.name), options, build.variables)
        self._built.write_text(told)

    def _pip(
        self,
        lock: Path,
        options: Sequence[str] = (),
        variables: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        command = [
            *(str(self.python), "-m", "pip", "install", "--requirement", str(lock), *options),
            *("--require-hashes", "--no-build-isolation"),
            *("--only-binary", ":all:", "--no-binary", BUILT_HERE),
            *("--no-input", "--progress-bar", "off", "--disable-pip-version-check"),
        ]
        environment = {k: v for k, v in os.environ.items() if k not in MISLEADING}
        environment.update(variables)
        # The build finds the locked cmake and ninja before any other.
        environment["PATH"] = (
            f"{self.python.parent}{os.pathsep}{environment.get('PATH', os.defpath)}"
        )
        code, lines = follow(command, environment, on_change=self._mark)
        if code:
            faults = [line for line in lines if "No space left on device" in line]
            if faults:
                raise Refusal("disk_filled", path=self.directory)
            faults = [line for line in lines if line.startswith("ERROR:")] or lines or [str(code)]
            raise Refusal("install_failed", reason=faults[-1].removeprefix("ERROR:").strip())

    def _mark(self) -> None:
        """From here on packages are being replaced."""
        self._unfinished.touch()
        for stamp in self.directory.glob("installed-*"):
            stamp.unlink()

    @contextlib.contextmanager
    def _nobody_else(self) -> Iterator[None]:
        descriptor = os.open(self._lock_directory, os.O_RDONLY)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            yield
        finally:
            os.close(descriptor)


def _requirement(lock: Path) -> str:
    """The lines of llama-cpp-python in a lock file, with its hashes."""
    found: list[str] = []
    for line in lock.read_text().splitlines():
        if line.startswith(f"{BUILT_HERE}==") or (found and line[:1].isspace()):
            found.append(line)
        elif found:
            break
    return "\n".join(found) + "\n"


def _cache() -> Path:
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "konak"


def _quiet(command: list[str]) -> int:
    done = subprocess.run(command, capture_output=True, check=False)  # noqa: S603 - own words
    return done.returncode
